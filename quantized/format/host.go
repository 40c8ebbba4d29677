package format

import (
	"encoding/binary"
	"fmt"
	"unsafe"
)

// DataOf returns bytes as blocks are read from. It copies those that are not aligned to 4 bytes.
func DataOf(b []byte) Data {
	n := len(b) / 4
	p := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(p)%4 == 0 && littleEndian {
		return Data{b, unsafe.Slice((*uint16)(p), len(b)/2), unsafe.Slice((*uint32)(p), n)}
	}
	d := Data{b, make([]uint16, len(b)/2), make([]uint32, n)}
	for i := range d.H {
		d.H[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	for i := range d.W {
		d.W[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return d
}

var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Block returns how blocks of a format are read. It is an error, [ErrType], if the format has no
// blocks.
func (t Type) Block() (Block, error) {
	if !t.Valid() || byType[t].block == nil {
		return nil, fmt.Errorf("%w: %v has no blocks of several elements", ErrType, t)
	}
	return byType[t].block, nil
}

// Dequantize stores the values of blocks in dst, which has as many elements as they have. It is an
// error, [ErrType] or [ErrSize], if t has no blocks or if the lengths are not those of whole blocks.
func Dequantize(dst []float32, src []byte, t Type) error {
	f, err := t.Block()
	if err != nil {
		return err
	}
	want, err := t.RowBytes(int64(len(dst)))
	if err != nil {
		return err
	}
	if int64(len(src)) != want {
		return fmt.Errorf("%w: %d elements in %v have %d bytes, not %d", ErrSize, len(dst), t, want, len(src))
	}
	d, runs, size := DataOf(src), f.Elems()/RunLen, f.Bytes()
	for i := range len(dst) / RunLen {
		r := f.Run(d, i/runs*size, i%runs)
		for j := range RunLen {
			dst[i*RunLen+j] = r.At(j)
		}
	}
	return nil
}
