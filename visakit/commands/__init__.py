"""What the commands share: types of options, how a command ends, what it says on standard error."""
