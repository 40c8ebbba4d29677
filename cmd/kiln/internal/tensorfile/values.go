package tensorfile

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/tensor/file"
)

// chunk is how many elements are worked on at a time; whole blocks of all quantized types.
const chunk = 1 << 16

// Each calls f with the values of a tensor in row-major order, some at a time, those of quantized
// types dequantized. It keeps one tensor in memory, if that is not read from a mapped file.
func Each(e *file.Entry, f func(values []float64) error) error {
	if e.Encoding().Quantized() {
		return eachBlocks(e, f)
	}
	if e.DType.Valid() && !e.DType.Computes() {
		return fmt.Errorf("tensor %q: %w: %s is a type for storage, whose values are not known here",
			e.Name, file.ErrUnsupported, e.DType)
	}
	b, release, err := rowMajor(e)
	if err != nil {
		return err
	}
	defer release()
	size := e.DType.Size()
	values := make([]float64, min(chunk, len(b)/size))
	for len(b) > 0 {
		n := min(len(values), len(b)/size)
		decode(values[:n], b[:n*size], e.DType)
		if err := f(values[:n]); err != nil {
			return err
		}
		b = b[n*size:]
	}
	return nil
}

// rowMajor is the elements in row-major order, without a copy where it can be.
func rowMajor(e *file.Entry) ([]byte, func(), error) {
	if !e.Layout.IsContiguous() {
		b, err := e.Bytes()
		return b, func() {}, err
	}
	v, err := e.View()
	if err != nil {
		return nil, nil, err
	}
	return v.Bytes()[:e.Size()], v.Release, nil
}

// decode makes numbers of elements.
func decode(dst []float64, b []byte, d dtype.DType) {
	le := binary.LittleEndian
	switch d {
	case dtype.F64:
		for i := range dst {
			dst[i] = math.Float64frombits(le.Uint64(b[8*i:]))
		}
	case dtype.F32:
		for i := range dst {
			dst[i] = float64(math.Float32frombits(le.Uint32(b[4*i:])))
		}
	case dtype.BF16:
		for i := range dst {
			dst[i] = float64(math.Float32frombits(uint32(le.Uint16(b[2*i:])) << 16))
		}
	default:
		decodeScalars(dst, b, d)
	}
}

func decodeScalars(dst []float64, b []byte, d dtype.DType) {
	size := d.Size()
	var bits [8]byte
	for i := range dst {
		copy(bits[:], b[i*size:(i+1)*size])
		s := dtype.FromBits(d, binary.LittleEndian.Uint64(bits[:]))
		if d.IsInt() {
			dst[i] = float64(s.Int())
		} else {
			dst[i] = s.Float()
		}
	}
}

// eachBlocks is Each of a quantized type.
func eachBlocks(e *file.Entry, f func([]float64) error) error {
	t, err := gguf.TypeOf(e)
	if err != nil {
		return fmt.Errorf("dequantize: %w", err)
	}
	v, err := e.Raw()
	if err != nil {
		return err
	}
	defer v.Release()
	enc := e.Encoding()
	n := min(e.Layout.Count(), chunk-chunk%enc.Block)
	floats, values := make([]float32, n), make([]float64, n)
	for b := v.Bytes(); len(b) > 0; {
		n := min(n, len(b)/enc.BlockBytes*enc.Block)
		size := n / enc.Block * enc.BlockBytes
		if err := format.Dequantize(floats[:n], b[:size], t); err != nil {
			return err
		}
		for i, x := range floats[:n] {
			values[i] = float64(x)
		}
		if err := f(values[:n]); err != nil {
			return err
		}
		b = b[size:]
	}
	return nil
}

// Convert returns a tensor whose values are those of another one, in an element type. It is made
// when it is read.
func Convert(e *file.Entry, d dtype.DType) (*file.Entry, error) {
	return convert(e, d, func(float64, dtype.Scalar) error { return nil })
}

// convertFinite is Convert, without finite numbers that are infinite in the type.
func convertFinite(e *file.Entry, d dtype.DType) (*file.Entry, error) {
	return convert(e, d, func(x float64, s dtype.Scalar) error {
		if y := s.Float(); x-x == 0 && y-y != 0 {
			return fmt.Errorf("tensor %q: %v is too much for %s, which makes %v of it", e.Name, x, d, y)
		}
		return nil
	})
}

// convert is Convert with a check of each number.
func convert(e *file.Entry, d dtype.DType,
	check func(x float64, s dtype.Scalar) error) (*file.Entry, error) {
	return file.FromFunc(e.Name, d, e.Shape(), func() ([]byte, error) {
		b := make([]byte, 0, d.Bytes(e.Layout.Count()))
		err := Each(e, func(values []float64) error {
			for _, x := range values {
				s := dtype.FromFloat(d, x)
				if err := check(x, s); err != nil {
					return err
				}
				b = s.Append(b)
			}
			return nil
		})
		return b, err
	})
}
