package file

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
)

// Kind is how an element is stored that no element type is the like of.
type Kind uint8

// The kinds. Each but the first is read as the type behind it.
const (
	Same   Kind = iota // stored as the element type is
	Bool               // U8: 0 or 1
	Uint16             // U32
	Uint64             // I64, if all values fit
)

var kinds = [...]struct {
	d    dtype.DType
	size int
}{Bool: {dtype.U8, 1}, Uint16: {dtype.U32, 2}, Uint64: {dtype.I64, 8}}

// Encoding is how a file stores elements.
type Encoding struct {
	Name  string      // of the type in the format
	DType dtype.DType // that elements are read as, Invalid if nothing can hold them
	Kind  Kind
	Big   bool // the most significant byte comes first

	// Of a quantized type, whose DType is Invalid: the elements and the bytes of a block. Blocks
	// divide the last dimension.
	Block, BlockBytes int
}

// As is the encoding of an element type that is stored as it is.
func As(name string, d dtype.DType) Encoding { return Encoding{Name: name, DType: d} }

// From is the encoding of a kind.
func From(name string, k Kind) Encoding { return Encoding{Name: name, DType: kinds[k].d, Kind: k} }

// Blocks is the encoding of a quantized type, of which a block of elements has so many bytes.
func Blocks(name string, elements, bytes int) Encoding {
	return Encoding{Name: name, Block: elements, BlockBytes: bytes}
}

// Quantized reports whether elements are stored in blocks, to be read by [Entry.Raw].
func (e Encoding) Quantized() bool { return e.Block > 0 && e.BlockBytes > 0 && !e.DType.Valid() }

// Bits is the size of a stored element, 0 if it is not known or that of a block.
func (e Encoding) Bits() int {
	if e.Kind != Same {
		return 8 * kinds[e.Kind].size
	}
	return e.DType.Bits()
}

// bytes is the size of n stored elements, which begin and end with whole bytes.
func (e Encoding) bytes(n int) int64 {
	if e.Quantized() {
		return int64(n/e.Block) * int64(e.BlockBytes)
	}
	b := int64(e.Bits())
	return int64(n)/8*b + (int64(n)%8*b+7)/8
}

// converts reports whether elements are stored in another way than their type has them.
func (e Encoding) converts() bool { return e.Kind != Same || e.Big && e.Bits() > 8 }

// decode returns the elements as their type has them. The view is given up if it is not
// returned. The layout says which of them count.
func (e Encoding) decode(v *View, l layout.Layout) (*View, error) {
	switch {
	case !e.converts():
		return v, nil
	case e.Kind == Bool && !slices.ContainsFunc(v.data, func(b byte) bool { return b > 1 }):
		return v, nil
	}
	defer v.Release()
	src := v.data
	if e.Kind == Uint64 {
		if err := e.checkRange(src, l); err != nil {
			return nil, err
		}
	}
	dst := make([]byte, len(src)/(e.Bits()/8)*e.DType.Size())
	e.convert(dst, src)
	return NewView(dst), nil
}

func (e Encoding) order() binary.ByteOrder {
	if e.Big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// convert puts the elements of src into dst.
func (e Encoding) convert(dst, src []byte) {
	le := binary.LittleEndian
	switch e.Kind {
	case Bool:
		for i, b := range src {
			dst[i] = min(b, 1)
		}
	case Uint16:
		order := e.order()
		for i := 0; i+2 <= len(src); i += 2 {
			le.PutUint32(dst[2*i:], uint32(order.Uint16(src[i:])))
		}
	default: // as they are, but for the order of their bytes
		if copy(dst, src); e.Big {
			for i, n := 0, e.DType.Size(); i+n <= len(dst); i += n {
				slices.Reverse(dst[i : i+n])
			}
		}
	}
}

// checkRange reports a u64 that is too large for an i64.
func (e Encoding) checkRange(src []byte, l layout.Layout) error {
	order := e.order()
	for i := range l.Offsets() {
		if x := order.Uint64(src[8*i:]); x > math.MaxInt64 {
			return Fault("", -1, ErrUnsupported, "element %d is %d, which is too large for i64, the type that %s is read as", i, x, e.Name)
		}
	}
	return nil
}

// unsupported says that a type cannot be read.
func (e Encoding) unsupported() string {
	if e.Quantized() {
		return e.Name + " is a quantized type: Raw has its blocks, and package quantized dequantizes them"
	}
	var names []string
	for d := dtype.Invalid + 1; d.Valid(); d++ {
		names = append(names, d.String())
	}
	return fmt.Sprintf("no element type can hold %s; there are %s (and bool is read as u8, u16 as u32, u64 as i64)", e.Name, strings.Join(names, ", "))
}
