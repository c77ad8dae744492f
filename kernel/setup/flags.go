package setup

import (
	"flag"
	"fmt"
	"slices"
	"strings"
)

// Engines are the names of the engines that run cells, the usual one first.
var Engines = []string{"go", "yaegi"}

// EngineFlag defines the flag that chooses one of Engines.
func EngineFlag(fs *flag.FlagSet, name *string) {
	fs.Func("engine", "the `engine` that runs cells: go or yaegi, the interpreter as it is published, for a second opinion (default go)", func(s string) error {
		if *name = s; !slices.Contains(Engines, s) {
			return fmt.Errorf("there is no engine %q; the engines are %s", s, strings.Join(Engines, " and "))
		}
		return nil
	})
}

// Flags defines the flags that say what is installed, and where.
func Flags(fs *flag.FlagSet, in *Installer, user *bool) {
	fs.BoolVar(user, "user", false, "install for this user: the kernelspec in Jupyter's data folder, the command in ~/.local/bin (the default)")
	fs.StringVar(&in.Prefix, "prefix", "", "install into `DIR`: DIR/bin/dace and DIR/share/jupyter/kernels/dace")
	fs.BoolVar(&in.SysPrefix, "sys-prefix", false, "install into the active virtual or conda environment, else into python3's own prefix")
	fs.StringVar(&in.Name, "name", "", "the kernel's `NAME` for Jupyter, and the command's; kernels of several names are independent (default dace; with -engine yaegi, dace-yaegi)")
	EngineFlag(fs, &in.Engine)
	fs.StringVar(&in.DisplayName, "display-name", "", "the `NAME` that Jupyter shows (default \"Go (dace)\", with the kernel's name)")
	fs.BoolVar(&in.Force, "force", false, "overwrite a kernelspec or command of the same name that is not ours")
	fs.BoolVar(&in.Keep, "keep", false, "when uninstalling, leave the history of cells and the compiled cells of this user")
}

// Misuse returns what is wrong with the flags, or "".
func Misuse(in *Installer, user bool) string {
	if user && in.Prefix != "" || user && in.SysPrefix || in.Prefix != "" && in.SysPrefix {
		return "-user, -prefix and -sys-prefix exclude each other"
	}
	return ""
}
