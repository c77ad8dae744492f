package notebook

// A Program is a notebook as one program of Go.
type Program struct {
	Text  []byte
	Lacks []string // a sentence about each thing that the program does not do
	// Export makes a folder that holds the program, a go.mod and a go.sum a module
	// with a path, that builds with modules which are not compiled into the command.
	Export func(dir, path string) error
	// Close removes what was made to find these modules.
	Close func() error
}
