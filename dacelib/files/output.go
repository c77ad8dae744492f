package files

import (
	"cmp"
	"io"
	"os"
	"os/exec"
)

// Output runs a command, and returns what it has written to its standard output and
// to its standard error. Both are files, not pipes: Output returns as soon as the
// command itself has ended, with all that it has written, although processes that it
// leaves running hold them open.
func Output(c *exec.Cmd) (stdout, stderr []byte, err error) {
	read := [2]func() ([]byte, error){}
	for i, w := range []*io.Writer{&c.Stdout, &c.Stderr} {
		f, err := os.CreateTemp("", "output-")
		if err != nil {
			return nil, nil, err
		}
		defer os.Remove(f.Name())
		defer f.Close()
		*w = f
		read[i] = func() ([]byte, error) { return os.ReadFile(f.Name()) }
	}
	err = c.Run()
	stdout, errOut := read[0]()
	stderr, errErr := read[1]()
	return stdout, stderr, cmp.Or(err, errOut, errErr)
}
