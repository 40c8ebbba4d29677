package format

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// DataOf returns bytes as blocks are read from. It copies those that are not aligned to 4 bytes.
func DataOf(b []byte) Data {
	n := len(b) / 4
	p := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(p)%4 == 0 && littleEndian {
		return Data{B: b, H: unsafe.Slice((*uint16)(p), len(b)/2), W: unsafe.Slice((*uint32)(p), n)}
	}
	d := Data{B: b, H: make([]uint16, len(b)/2), W: make([]uint32, n)}
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
// error, [ErrType] or [ErrSize], if t has no blocks or if the lengths are not those of whole
// blocks.
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
		return fmt.Errorf("%w: %d elements in %v have %d bytes, not %d",
			ErrSize, len(dst), t, want, len(src))
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

// Quantize stores rows of cols elements as blocks in dst. Importance, of which there is one number
// for each column, or none, weights the errors that are made small; formats that ignore it give the
// same bytes with it. Bytes are those of the reference implementation's quantizer of files. Rows
// are shared among all cores.
//
// Values are not checked: NaN, infinities, and magnitudes for which the format has no scale, such
// as those of more than 65504 times its largest value for a scale of half precision, give blocks
// without meaning. Nor do blocks of [IQ3_S] come back in which a group of 32 zeros is in front of
// other elements, see [BlockIQ3_S.QuantizeHost].
//
// It is an error, [ErrType], if t has no quantizer, or none without importance, and [ErrSize] if
// lengths do not fit.
func Quantize(dst []byte, src []float32, cols int, t Type, importance []float32) error {
	row, err := t.RowBytes(int64(cols))
	if err != nil {
		return err
	}
	if cols <= 0 || len(src)%cols != 0 || int64(len(dst)) != int64(len(src)/max(cols, 1))*row {
		return fmt.Errorf("%w: %d elements in rows of %d to %d bytes of %v",
			ErrSize, len(src), cols, len(dst), t)
	}
	if len(importance) != 0 && len(importance) != cols {
		return fmt.Errorf("%w: importance of %d columns for rows of %d", ErrSize, len(importance), cols)
	}
	write, err := quantizerOf(t, len(importance) > 0)
	if err != nil {
		return err
	}
	inRows(len(src)/cols, func(i int) {
		quantizeRow(dst[i*int(row):][:row], src[i*cols:][:cols], byType[t], importance, write)
	})
	return nil
}

// QuantizerKind is which of the interfaces for writing blocks a format is quantized by.
type QuantizerKind uint8

const (
	NoQuantizer       QuantizerKind = iota // blocks can't be made so
	PlainQuantizer                         // [Quantizer]
	WeightedQuantizer                      // [Weighted]
	OnHost                                 // [HostQuantizer]
)

// QuantizerKind returns by which interface blocks of the format are made, with importance of columns
// or without. It is the one place where this is decided, for the host and for devices.
func (t Type) QuantizerKind(important bool) QuantizerKind {
	f, err := t.Block()
	if err != nil {
		return NoQuantizer
	}
	if _, ok := f.(HostQuantizer); ok {
		if !important && byType[t].Imatrix == Required {
			return NoQuantizer
		}
		return OnHost
	}
	if _, ok := f.(Weighted); ok && important {
		return WeightedQuantizer
	}
	if _, ok := f.(Quantizer); ok {
		return PlainQuantizer
	}
	return NoQuantizer
}

// Quantizes reports whether the format has a quantizer, with importance of columns or without.
func (t Type) Quantizes(important bool) bool { return t.QuantizerKind(important) != NoQuantizer }

// blockWriter writes a block, with the importance of its elements and the mean square of its row.
type blockWriter func(out []byte, x, importance []float32, square float32)

func quantizerOf(t Type, important bool) (blockWriter, error) {
	f, err := t.Block()
	if err != nil {
		return nil, err
	}
	switch t.QuantizerKind(important) {
	case WeightedQuantizer:
		return f.(Weighted).QuantizeWeighted, nil
	case PlainQuantizer:
		q := f.(Quantizer)
		return func(out []byte, x, _ []float32, _ float32) { q.Quantize(out, x) }, nil
	case OnHost:
		h := f.(HostQuantizer)
		return func(out []byte, x, w []float32, _ float32) { h.QuantizeHost(out, x, w) }, nil
	}
	return nil, fmt.Errorf("%w: %v has no quantizer (importance of columns: %v)",
		ErrType, t, important)
}

func quantizeRow(dst []byte, src []float32, info *Info, importance []float32, write blockWriter) {
	var square float32
	if len(importance) > 0 {
		square = squares(src) / float32(len(src))
	}
	for b := range len(src) / info.Elems {
		i, j := b*info.Elems, (b+1)*info.Elems
		var w []float32
		if len(importance) > 0 {
			w = importance[i:j]
		}
		write(dst[b*info.Bytes:][:info.Bytes], src[i:j], w, square)
	}
}

// inRows calls f for each of n rows, on all cores.
func inRows(n int, f func(i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wait.Wait()
}
