package process

import (
	"fmt"
	"os"
)

// OwnFolder returns an error unless a folder, if it exists, belongs to this user
// and nobody else can write to it.
func OwnFolder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case os.IsNotExist(err):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", dir)
	case !Owned(info):
		return fmt.Errorf("the folder %s belongs to another user, who could run code as you by what is in it: use one of your own, or chown it if it should be yours", dir)
	case !Closed(info):
		return fmt.Errorf("others can write to the folder %s, and so run code as you: chmod go-w it, and remove what they may have put there", dir)
	}
	return nil
}
