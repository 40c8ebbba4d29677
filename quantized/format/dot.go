package format

import (
	"fmt"
	"math"

	"github.com/gokiln/kiln/dsl"
)

// Dot returns the dot product of a row of weights, blocks of w in t, with a row of activations of
// as many elements, in x as blocks of the format that is the Partner of t in [Type.Info]: the
// product that the reference implementation computes on a CPU. Products of quantized numbers are
// integers and exact; they are scaled and added up in float32, eight elements at a time, in order.
// Minimums of the formats whose partner is [Q8_1] are multiplied with the rounded sums that its
// blocks have, as the reference does.
//
// F16, BF16 and F32 are their own partners; their products are in float32. It is an error,
// [ErrType], if t has no dot product, and [ErrSize] if the rows are no whole blocks or have another
// number of elements.
func Dot(t Type, w, x []byte) (float32, error) {
	info, err := t.Info()
	if err != nil {
		return 0, err
	}
	partner := byType[info.Partner]
	n := len(w) / info.Bytes * info.Elems
	want, err := info.Partner.RowBytes(int64(n))
	if err != nil {
		return 0, err
	}
	if len(w)%info.Bytes != 0 || int64(len(x)) != want {
		return 0, fmt.Errorf("%w: %d bytes of %v and %d of %v, which are to have as many elements",
			ErrSize, len(w), t, len(x), info.Partner)
	}
	switch {
	case info.block != nil:
		return dotBlocks(&info, partner, DataOf(w), DataOf(x), n), nil
	case t == F16 || t == BF16 || t == F32:
		return dotPlain(t, DataOf(w), DataOf(x), n), nil
	}
	return 0, fmt.Errorf("%w: no dot product of %v", ErrType, t)
}

// dotBlocks is the product of n elements in blocks.
func dotBlocks(of, partner *Info, w, x Data, n int) float32 {
	var sum float32
	perW, perX := of.Elems/RunLen, partner.Elems/RunLen
	for i := range n / RunLen {
		at := i / perX * partner.Bytes
		a := of.block.Run(w, i/perW*of.Bytes, i%perW)
		b := partner.block.Run(x, at, i%perX)
		q := dsl.Dot4(int32(a.Q[1]), int32(b.Q[1]), dsl.Dot4(int32(a.Q[0]), int32(b.Q[0]), 0))
		sum += float32(float32(a.D*b.D) * float32(q))
		switch {
		case a.M == 0:
		case partner.Type != Q8_1:
			const ones = 0x01010101
			s := dsl.Dot4(ones, int32(b.Q[1]), dsl.Dot4(ones, int32(b.Q[0]), 0))
			sum += float32(float32(a.M*b.D) * float32(s))
		case i%perX == 0: // the minimum is that of the whole block
			sum += float32(a.M * x.F16(at+2))
		}
	}
	return sum
}

// dotPlain is the product of n numbers.
func dotPlain(t Type, w, x Data, n int) float32 {
	number := func(d *Data, i int) float32 {
		switch t {
		case F16:
			return d.F16(2 * i)
		case BF16:
			return math.Float32frombits(d.U16(2*i) << 16)
		}
		return math.Float32frombits(d.U32(4 * i))
	}
	var sum float32
	for i := range n {
		sum += float32(number(&w, i) * number(&x, i))
	}
	return sum
}
