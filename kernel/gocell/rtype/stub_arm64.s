#include "textflag.h"

// enter runs the closure whose number is in R26.
TEXT enter<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVD $·closures(SB), R17
	MOVD (R17)(R26<<3), R26
	MOVD (R26), R17
	B    (R17)

#define S(n) MOVD $(n), R26; B enter<>(SB);
#define S8(n) S(n) S(n+1) S(n+2) S(n+3) S(n+4) S(n+5) S(n+6) S(n+7)
#define S64(n) S8(n) S8(n+8) S8(n+16) S8(n+24) S8(n+32) S8(n+40) S8(n+48) S8(n+56)
#define S512(n) S64(n) S64(n+64) S64(n+128) S64(n+192) S64(n+256) S64(n+320) S64(n+384) S64(n+448)
#define S4K(n) S512(n) S512(n+512) S512(n+1024) S512(n+1536) S512(n+2048) S512(n+2560) S512(n+3072) S512(n+3584)
#define S32K(n) S4K(n) S4K(n+4096) S4K(n+8192) S4K(n+12288) S4K(n+16384) S4K(n+20480) S4K(n+24576) S4K(n+28672)

TEXT stubs<>(SB), NOSPLIT|NOFRAME, $0-0
	S32K(0)
	S32K(32768)

// func base() uintptr
TEXT ·base(SB), NOSPLIT, $0-8
	MOVD $stubs<>(SB), R0
	MOVD R0, ret+0(FP)
	RET
