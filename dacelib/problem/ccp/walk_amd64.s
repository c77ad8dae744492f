#include "textflag.h"

// RATES points R8 (a) and R9 (g) to the rates of the next stage: the one of
// them that is 0 or 1 comes from the constants.
#define RATES \
	MOVQ    DX, R8 \
	LEAQ    288(DX), R9 \
	TESTQ   $1, BX \
	CMOVQNE R10, R8 \
	CMOVQEQ R11, R9 \
	ADDQ    $576, DX \
	SHRQ    $1, BX

// STEP takes the vector Z of simulations, at offset OFF of the rows, through
// the stage and counts its violations in the lanes of Y9: a comparison
// (greater, $0x1e) that holds is the integer -1.
#define STEP(OFF, Z, T) \
	VSUBPD Z, Y11, T \
	VMULPD OFF(R9), Z, Z \
	VMULPD OFF(R8), T, T \
	VADDPD Z, T, Z \
	VCMPPD $0x1e, Y10, Z, T \
	VPSUBQ T, Y9, Y9

#define STAGE \
	RATES \
	STEP(0, Y0, Y12) \
	STEP(32, Y1, Y13) \
	STEP(64, Y2, Y14) \
	STEP(96, Y3, Y15) \
	STEP(128, Y4, Y12) \
	STEP(160, Y5, Y13) \
	STEP(192, Y6, Y14) \
	STEP(224, Y7, Y15) \
	STEP(256, Y8, Y12)

// func walkAVX2(z *float64, count *counts, table, consts *float64, x uint64, n, m int, limit float64) int
TEXT ·walkAVX2(SB), NOSPLIT, $0-72
	MOVQ         z+0(FP), SI
	MOVQ         count+8(FP), DI
	MOVQ         table+16(FP), DX
	MOVQ         consts+24(FP), R10
	MOVQ         x+32(FP), BX
	MOVQ         n+40(FP), CX
	VBROADCASTSD limit+56(FP), Y10
	LEAQ         288(R10), R11
	VBROADCASTSD (R11), Y11
	VMOVDQU      (DI), Y9
	VMOVUPD      (SI), Y0
	VMOVUPD      32(SI), Y1
	VMOVUPD      64(SI), Y2
	VMOVUPD      96(SI), Y3
	VMOVUPD      128(SI), Y4
	VMOVUPD      160(SI), Y5
	VMOVUPD      192(SI), Y6
	VMOVUPD      224(SI), Y7
	VMOVUPD      256(SI), Y8

	TESTQ        CX, CX
	JZ           tail

stage:
	STAGE
	ADDQ    $288, SI
	ADDQ    $64, DI
	VMOVUPD Y0, (SI)
	VMOVUPD Y1, 32(SI)
	VMOVUPD Y2, 64(SI)
	VMOVUPD Y3, 96(SI)
	VMOVUPD Y4, 128(SI)
	VMOVUPD Y5, 160(SI)
	VMOVUPD Y6, 192(SI)
	VMOVUPD Y7, 224(SI)
	VMOVUPD Y8, 256(SI)
	VMOVDQU Y9, (DI)
	DECQ    CX
	JNZ     stage

tail:
	MOVQ  m+48(FP), CX
	TESTQ CX, CX
	JZ    done

tailstage:
	STAGE
	DECQ CX
	JNZ  tailstage

done:
	VEXTRACTI128 $1, Y9, X0
	VPADDQ       X0, X9, X0
	VPSHUFD      $0x4e, X0, X1
	VPADDQ       X1, X0, X0
	VMOVQ        X0, AX
	VZEROUPPER
	MOVQ         AX, ret+64(FP)
	RET

// WRATES, WSTEP and WSTAGE are RATES, STEP and STAGE of a wide block. Z13 holds
// ones, which the mask of a comparison adds to the counts.
#define WRATES \
	MOVQ    DX, R8 \
	LEAQ    448(DX), R9 \
	TESTQ   $1, BX \
	CMOVQNE R10, R8 \
	CMOVQEQ R11, R9 \
	ADDQ    $896, DX \
	SHRQ    $1, BX

#define WSTEP(OFF, Z, T, K) \
	VSUBPD Z, Z11, T \
	VMULPD OFF(R9), Z, Z \
	VMULPD OFF(R8), T, T \
	VADDPD Z, T, Z \
	VCMPPD $0x1e, Z10, Z, K \
	VPADDQ Z13, Z9, K, Z9

#define WSTAGE \
	WRATES \
	WSTEP(0, Z0, Z14, K1) \
	WSTEP(64, Z1, Z15, K2) \
	WSTEP(128, Z2, Z16, K3) \
	WSTEP(192, Z3, Z17, K4) \
	WSTEP(256, Z4, Z18, K5) \
	WSTEP(320, Z5, Z19, K6) \
	WSTEP(384, Z6, Z20, K7)

// func walkAVX512(z *float64, count *counts, table, consts *float64, x uint64, n, m int, limit float64) int
TEXT ·walkAVX512(SB), NOSPLIT, $0-72
	MOVQ         z+0(FP), SI
	MOVQ         count+8(FP), DI
	MOVQ         table+16(FP), DX
	MOVQ         consts+24(FP), R10
	MOVQ         x+32(FP), BX
	MOVQ         n+40(FP), CX
	VBROADCASTSD limit+56(FP), Z10
	LEAQ         448(R10), R11
	VBROADCASTSD (R11), Z11
	MOVQ         $1, AX
	VPBROADCASTQ AX, Z13
	VMOVDQU64    (DI), Z9
	VMOVUPD      (SI), Z0
	VMOVUPD      64(SI), Z1
	VMOVUPD      128(SI), Z2
	VMOVUPD      192(SI), Z3
	VMOVUPD      256(SI), Z4
	VMOVUPD      320(SI), Z5
	VMOVUPD      384(SI), Z6

	TESTQ        CX, CX
	JZ           wtail

wstage:
	WSTAGE
	ADDQ      $448, SI
	ADDQ      $64, DI
	VMOVUPD   Z0, (SI)
	VMOVUPD   Z1, 64(SI)
	VMOVUPD   Z2, 128(SI)
	VMOVUPD   Z3, 192(SI)
	VMOVUPD   Z4, 256(SI)
	VMOVUPD   Z5, 320(SI)
	VMOVUPD   Z6, 384(SI)
	VMOVDQU64 Z9, (DI)
	DECQ      CX
	JNZ       wstage

wtail:
	MOVQ  m+48(FP), CX
	TESTQ CX, CX
	JZ    wdone

wtailstage:
	WSTAGE
	DECQ CX
	JNZ  wtailstage

wdone:
	VEXTRACTI64X4 $1, Z9, Y0
	VPADDQ        Y0, Y9, Y0
	VEXTRACTI128  $1, Y0, X1
	VPADDQ        X1, X0, X0
	VPSHUFD       $0x4e, X0, X1
	VPADDQ        X1, X0, X0
	VMOVQ         X0, AX
	VZEROUPPER
	MOVQ          AX, ret+64(FP)
	RET
