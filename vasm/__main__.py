from vasm.cli import main

main()
