from vlink.cli import main

main()
