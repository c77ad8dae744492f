package natsfarm

// SetOwnCommand sets the command by which this process starts a server again.
func SetOwnCommand(command []string) { own.Store(&command) }
