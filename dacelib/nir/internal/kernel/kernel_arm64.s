#include "textflag.h"

// Vector instructions that Go's assembler does not know, for four float32:
// d = a * b, d = max(a, b), d = a + b, and d = a > 0 as a mask.
#define FMUL4(a, b, d) WORD $(0x6E20DC00 | (b)<<16 | (a)<<5 | (d))
#define FMAX4(a, b, d) WORD $(0x4E20F400 | (b)<<16 | (a)<<5 | (d))
#define FADD4(a, b, d) WORD $(0x4E20D400 | (b)<<16 | (a)<<5 | (d))
#define POSITIVE4(a, d) WORD $(0x4EA0C800 | (a)<<5 | (d))

// MULADD adds x times 16 weights (V24 to V27) to the four sums of a row.
#define MULADD(x, a, b, c, d) \
	VFMLA V24.S4, x.S4, a.S4; \
	VFMLA V25.S4, x.S4, b.S4; \
	VFMLA V26.S4, x.S4, c.S4; \
	VFMLA V27.S4, x.S4, d.S4

// SUMS adds to V0-V23, the sums of six rows of 16 columns, the products of R0
// columns of x (rows at R1, R7-R11, R3 bytes from one column to the next) and
// rows of weights (at R4, every R6 bytes).
#define SUMS \
	MOVD k+0(FP), R0; \
	MOVD x+8(FP), R1; \
	MOVD xr+16(FP), R2; \
	MOVD xk+24(FP), R3; \
	MOVD w+32(FP), R4; \
	MOVD ldw+40(FP), R6; \
	ADD  R2, R1, R7; \
	ADD  R2, R7, R8; \
	ADD  R2, R8, R9; \
	ADD  R2, R9, R10; \
	ADD  R2, R10, R11; \
	CBZ  R0, done; \
loop: \
	VLD1  (R4), [V24.S4, V25.S4, V26.S4, V27.S4]; \
	ADD   R6, R4; \
	VLD1R (R1), [V28.S4]; \
	VLD1R (R7), [V29.S4]; \
	VLD1R (R8), [V30.S4]; \
	VLD1R (R9), [V31.S4]; \
	ADD   R3, R1; \
	ADD   R3, R7; \
	ADD   R3, R8; \
	ADD   R3, R9; \
	MULADD(V28, V0, V1, V2, V3); \
	VLD1R (R10), [V28.S4]; \
	MULADD(V29, V4, V5, V6, V7); \
	VLD1R (R11), [V29.S4]; \
	MULADD(V30, V8, V9, V10, V11); \
	ADD   R3, R10; \
	ADD   R3, R11; \
	MULADD(V31, V12, V13, V14, V15); \
	MULADD(V28, V16, V17, V18, V19); \
	MULADD(V29, V20, V21, V22, V23); \
	SUBS  $1, R0, R0; \
	BNE   loop; \
done:

// ACT applies the activation to V(a) with the slope in V28.
#define ACT(a) \
	FMUL4(a, 28, 29); \
	FMAX4(a, 29, a)

// ACTROW applies the activation to the four sums of a row.
#define ACTROW(a) \
	ACT(a); \
	ACT(a+1); \
	ACT(a+2); \
	ACT(a+3)

// func tileNEON(k int, x *float32, xr, xk uintptr, w *float32, ldw uintptr, b *float32, y *float32, ldy uintptr, slope float32)
TEXT ·tileNEON(SB), NOSPLIT, $0-76
	MOVD b+48(FP), R5
	VLD1 (R5), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1 (R5), [V4.S4, V5.S4, V6.S4, V7.S4]
	VLD1 (R5), [V8.S4, V9.S4, V10.S4, V11.S4]
	VLD1 (R5), [V12.S4, V13.S4, V14.S4, V15.S4]
	VLD1 (R5), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1 (R5), [V20.S4, V21.S4, V22.S4, V23.S4]
	SUMS
	MOVD y+56(FP), R12
	MOVD ldy+64(FP), R13
	MOVWU slope+72(FP), R14
	VDUP R14, V28.S4
	ACTROW(0)
	VST1 [V0.S4, V1.S4, V2.S4, V3.S4], (R12)
	ADD  R13, R12
	ACTROW(4)
	VST1 [V4.S4, V5.S4, V6.S4, V7.S4], (R12)
	ADD  R13, R12
	ACTROW(8)
	VST1 [V8.S4, V9.S4, V10.S4, V11.S4], (R12)
	ADD  R13, R12
	ACTROW(12)
	VST1 [V12.S4, V13.S4, V14.S4, V15.S4], (R12)
	ADD  R13, R12
	ACTROW(16)
	VST1 [V16.S4, V17.S4, V18.S4, V19.S4], (R12)
	ADD  R13, R12
	ACTROW(20)
	VST1 [V20.S4, V21.S4, V22.S4, V23.S4], (R12)
	RET

// CHOOSE replaces V(m) and V(mask), the same register, which holds h, by the
// sum where h > 0 and by the sum times the slope (V28) elsewhere.
#define CHOOSE(sum, vsum, m, mask) \
	POSITIVE4(m, m); \
	FMUL4(sum, 28, 29); \
	VBSL V29.B16, vsum.B16, mask.B16

// MASKROW writes a row of sums times the derivative of the activation.
#define MASKROW(n, a, b, c, d) \
	VLD1 (R5), [V24.S4, V25.S4, V26.S4, V27.S4]; \
	ADD  R13, R5; \
	CHOOSE(n, a, 24, V24); \
	CHOOSE(n+1, b, 25, V25); \
	CHOOSE(n+2, c, 26, V26); \
	CHOOSE(n+3, d, 27, V27); \
	VST1 [V24.S4, V25.S4, V26.S4, V27.S4], (R12); \
	ADD  R13, R12

#define ZEROROW(a, b, c, d) \
	VEOR a.B16, a.B16, a.B16; \
	VEOR b.B16, b.B16, b.B16; \
	VEOR c.B16, c.B16, c.B16; \
	VEOR d.B16, d.B16, d.B16

// func tileMaskNEON(k int, x *float32, xr, xk uintptr, w *float32, ldw uintptr, h *float32, y *float32, ldy uintptr, slope float32)
TEXT ·tileMaskNEON(SB), NOSPLIT, $0-76
	ZEROROW(V0, V1, V2, V3)
	ZEROROW(V4, V5, V6, V7)
	ZEROROW(V8, V9, V10, V11)
	ZEROROW(V12, V13, V14, V15)
	ZEROROW(V16, V17, V18, V19)
	ZEROROW(V20, V21, V22, V23)
	SUMS
	MOVD h+48(FP), R5
	MOVD y+56(FP), R12
	MOVD ldy+64(FP), R13
	MOVWU slope+72(FP), R14
	VDUP R14, V28.S4
	MASKROW(0, V0, V1, V2, V3)
	MASKROW(4, V4, V5, V6, V7)
	MASKROW(8, V8, V9, V10, V11)
	MASKROW(12, V12, V13, V14, V15)
	MASKROW(16, V16, V17, V18, V19)
	MASKROW(20, V20, V21, V22, V23)
	RET

// ADDCOLS adds 16 numbers at R8 to four sums.
#define ADDCOLS(a, b, c, d) \
	VLD1.P 64(R8), [V24.S4, V25.S4, V26.S4, V27.S4]; \
	FADD4(a, 24, a); \
	FADD4(b, 25, b); \
	FADD4(c, 26, c); \
	FADD4(d, 27, d)

// func lookupNEON(n int, bits *byte, table *float32, b *float32, y *float32, slope float32)
TEXT ·lookupNEON(SB), NOSPLIT, $0-44
	MOVD  b+24(FP), R4
	MOVD  y+32(FP), R5
	MOVWU slope+40(FP), R14
	VDUP  R14, V28.S4
	MOVD  $0, R6 // bytes of a row before the 64 columns in hand

half:
	MOVD   n+0(FP), R0
	MOVD   bits+8(FP), R1
	MOVD   table+16(FP), R2
	ADD    R6, R2
	VLD1.P 64(R4), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1.P 64(R4), [V4.S4, V5.S4, V6.S4, V7.S4]
	VLD1.P 64(R4), [V8.S4, V9.S4, V10.S4, V11.S4]
	VLD1.P 64(R4), [V12.S4, V13.S4, V14.S4, V15.S4]

rows:
	MOVBU.P 1(R1), R7
	ADD     R7<<9, R2, R8
	ADDCOLS(0, 1, 2, 3)
	ADDCOLS(4, 5, 6, 7)
	ADDCOLS(8, 9, 10, 11)
	ADDCOLS(12, 13, 14, 15)
	ADD     $131072, R2 // 256 rows of 128 columns
	SUBS    $1, R0, R0
	BNE     rows
	ACTROW(0)
	ACTROW(4)
	ACTROW(8)
	ACTROW(12)
	VST1.P  [V0.S4, V1.S4, V2.S4, V3.S4], 64(R5)
	VST1.P  [V4.S4, V5.S4, V6.S4, V7.S4], 64(R5)
	VST1.P  [V8.S4, V9.S4, V10.S4, V11.S4], 64(R5)
	VST1.P  [V12.S4, V13.S4, V14.S4, V15.S4], 64(R5)
	ADD     $256, R6
	CMP     $512, R6
	BNE     half
	RET
