#include "textflag.h"

// func stack() (used, id uintptr)
// The goroutine starts with the bounds of its stack: lo, hi.
TEXT ·stack(SB), NOSPLIT, $0-16
	MOVQ (TLS), AX
	MOVQ AX, id+8(FP)
	MOVQ 8(AX), AX
	LEAQ used+0(FP), BX
	SUBQ BX, AX
	MOVQ AX, used+0(FP)
	RET

// func currentG() uintptr
TEXT ·currentG(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ AX, ret+0(FP)
	RET
