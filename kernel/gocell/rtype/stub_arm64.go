package rtype

// stride is the size of a stub in bytes.
const stride = 8
