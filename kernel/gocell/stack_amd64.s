#include "textflag.h"

// func stackUsed() uintptr
// The goroutine starts with the bounds of its stack: lo, hi.
TEXT ·stackUsed(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ 8(AX), AX
	LEAQ ret+0(FP), BX
	SUBQ BX, AX
	MOVQ AX, ret+0(FP)
	RET

// func currentG() uintptr
TEXT ·currentG(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ AX, ret+0(FP)
	RET
