#include "textflag.h"

// enter runs the closure whose number is the sum of DL and R12.
TEXT enter<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVBLZX DX, DX
	ADDL R12, DX
	LEAQ ·closures(SB), R12
	MOVQ (R12)(DX*8), DX
	MOVQ (DX), R12
	JMP  R12

// A stub takes four bytes: it loads its number in its group into DL (B2) and jumps
// (EB) behind the last stub of its group, where the number of the group's first
// stub is loaded.
#define S(k) BYTE $0xB2; BYTE $(k); BYTE $0xEB; BYTE $(124-4*(k));
#define S8(k) S(k) S(k+1) S(k+2) S(k+3) S(k+4) S(k+5) S(k+6) S(k+7)
#define S32(n) S8(0) S8(8) S8(16) S8(24) MOVL $(n), R12; JMP enter<>(SB);
#define S128(n) S32(n) S32(n+32) S32(n+64) S32(n+96)
#define S1K(n) S128(n) S128(n+128) S128(n+256) S128(n+384) S128(n+512) S128(n+640) S128(n+768) S128(n+896)
#define S8K(n) S1K(n) S1K(n+1024) S1K(n+2048) S1K(n+3072) S1K(n+4096) S1K(n+5120) S1K(n+6144) S1K(n+7168)

TEXT stubs<>(SB), NOSPLIT|NOFRAME, $0-0
	S8K(0)
	S8K(8192)
	S8K(16384)
	S8K(24576)
	S8K(32768)
	S8K(40960)
	S8K(49152)
	S8K(57344)

// func base() uintptr
TEXT ·base(SB), NOSPLIT, $0-8
	LEAQ stubs<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET
