from vsim.cli import main

main()
