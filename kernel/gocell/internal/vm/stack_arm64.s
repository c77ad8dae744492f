#include "textflag.h"

// func stack() (used, id uintptr)
// The goroutine starts with the bounds of its stack: lo, hi.
TEXT ·stack(SB), NOSPLIT, $0-16
	MOVD g, id+8(FP)
	MOVD 8(g), R0
	MOVD $used+0(FP), R1
	SUB  R1, R0
	MOVD R0, used+0(FP)
	RET

// func currentG() uintptr
TEXT ·currentG(SB), NOSPLIT, $0-8
	MOVD g, ret+0(FP)
	RET
