// Package stdio connects the process's standard streams to the running cell:
// [Output] passes on the output of compiled code, child processes and C
// libraries, and [Input] asks the user for input when code reads os.Stdin.
//
// Text that cells print with package fmt does not take this path; see
// vm.Machine.Stdout.
package stdio
