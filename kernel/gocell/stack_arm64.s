#include "textflag.h"

// func stackUsed() uintptr
// The goroutine starts with the bounds of its stack: lo, hi.
TEXT ·stackUsed(SB), NOSPLIT, $0-8
	MOVD 8(g), R0
	MOVD $ret+0(FP), R1
	SUB  R1, R0
	MOVD R0, ret+0(FP)
	RET

// func currentG() uintptr
TEXT ·currentG(SB), NOSPLIT, $0-8
	MOVD g, ret+0(FP)
	RET
