package farmserver

import "encoding/binary"

// A filter changes the targets of calls in a program from relative to absolute: calls
// of one function are then the same bytes, and compress better.
type filter struct {
	name byte
	arch string // GOARCH of the programs that it is for
	// run does so in place, or undoes it.
	run func(program []byte, undo bool)
}

// filters are all; the first is for other programs.
var filters = []filter{
	{'-', "", func([]byte, bool) {}},
	{'x', "amd64", x86Calls},
	{'a', "arm64", armCalls},
}

// x86Calls is the transformation of CALL (E8) and JMP (E9) of Microsoft's cabinets
// ([MS-PATCH] 2.1.5): it maps relative targets within the program to absolute ones, one
// to one, and leaves others.
func x86Calls(program []byte, undo bool) {
	size := int32(len(program))
	for i := 0; i+5 <= len(program); i++ {
		if program[i]&0xfe != 0xe8 {
			continue
		}
		at, place := program[i+1:i+5], int32(i)
		switch v := int32(binary.LittleEndian.Uint32(at)); {
		case v < -place || v >= size:
		case undo && v >= 0:
			binary.LittleEndian.PutUint32(at, uint32(v-place))
		case undo:
			binary.LittleEndian.PutUint32(at, uint32(v+size))
		case v < size-place:
			binary.LittleEndian.PutUint32(at, uint32(v+place))
		default:
			binary.LittleEndian.PutUint32(at, uint32(v-size))
		}
		i += 4
	}
}

// armCalls changes the targets of BL, 26 bits of words at multiples of four bytes.
func armCalls(program []byte, undo bool) {
	const op, mask = 0x94000000, 1<<26 - 1
	for i := 0; i+4 <= len(program); i += 4 {
		v := binary.LittleEndian.Uint32(program[i:])
		if v&^uint32(mask) != op {
			continue
		}
		place := uint32(i / 4)
		if undo {
			place = -place
		}
		binary.LittleEndian.PutUint32(program[i:], op|(v+place)&mask)
	}
}
