//go:build !linux || !amd64

package symbols

var linuxTypes, linuxDocs []byte
