package stream_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/stream"
)

func open(t *testing.T) *tensor.Device {
	t.Helper()
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// numbers are those of a piece, nil if it is nothing.
func numbers(t *testing.T, x stream.Tensor) []float32 {
	t.Helper()
	y, ok := x.Get()
	if !ok {
		return nil
	}
	out, err := tensor.ToSlice[float32](y)
	require.NoError(t, err)
	return out
}

func TestTensor(t *testing.T) {
	d := open(t)
	var none stream.Tensor
	x := stream.Of(tensor.From(d, []float32{1, 2, 3, 4, 5, 6}, 2, 3))
	require.True(t, none.Empty() && stream.Of(nil).Empty() && !x.Empty())
	require.NoError(t, none.Err())
	require.Nil(t, none.Shape())
	require.Equal(t, tensor.Shape{2, 3}, x.Shape())
	require.Zero(t, none.Len(0))
	require.Equal(t, 3, x.Len(-1))

	require.Equal(t, x, none.Cat(x, 1))
	require.Equal(t, x, x.Cat(none, 1))
	require.True(t, none.Cat(none, 1).Empty())
	require.Equal(t, []float32{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}, numbers(t, x.Cat(x, 1)))

	require.Equal(t, []float32{2, 3, 5, 6}, numbers(t, x.Narrow(1, 1, 10)))
	require.Equal(t, []float32{2, 5}, numbers(t, x.Narrow(-1, 1, 1)))
	require.True(t, x.Narrow(1, 3, 1).Empty())
	require.True(t, none.Narrow(1, 0, 1).Empty())

	head, rest := x.Split(1, 2)
	require.Equal(t, []float32{1, 2, 4, 5}, numbers(t, head))
	require.Equal(t, []float32{3, 6}, numbers(t, rest))
	head, rest = x.Split(1, 0)
	require.True(t, head.Empty())
	require.Equal(t, x, rest)
	head, rest = x.Split(1, 5)
	require.Equal(t, x, head)
	require.True(t, rest.Empty())
	head, rest = none.Split(1, 1)
	require.True(t, head.Empty() && rest.Empty())

	require.Equal(t, []float32{-1, -2, -3, -4, -5, -6}, numbers(t, x.Apply((*tensor.Tensor).Neg)))
	require.True(t, none.Apply((*tensor.Tensor).Neg).Empty())
	require.ErrorIs(t, x.Narrow(2, 0, 1).Err(), tensor.ErrDim)
	head, rest = x.Split(2, 1)
	require.ErrorIs(t, head.Err(), tensor.ErrDim)
	require.ErrorIs(t, rest.Err(), tensor.ErrDim)
}

func TestBinOp(t *testing.T) {
	d := open(t)
	x, y := tensor.From(d, []float32{1, 2, 3, 4, 5, 6, 7, 8}, 1, 8), tensor.From(d, []float32{8, 7, 6, 5, 4, 3, 2, 1}, 1, 8)
	for name, b := range map[string]*stream.BinOp{
		"add": stream.Add(1), "sub": stream.Sub(1), "mul": stream.Mul(-1), "div": stream.Div(-1), "maximum": stream.NewBinOp((*tensor.Tensor).Maximum, 1),
	} {
		for range 2 {
			b.Reset()
			var out stream.Tensor
			lengths := []int{}
			left, right := 0, 0
			for _, n := range [][2]int{{3, 1}, {0, 0}, {0, 4}, {5, 1}, {0, 2}} {
				p := b.Step(piece(x, left, n[0]), piece(y, right, n[1]))
				left, right = left+n[0], right+n[1]
				lengths = append(lengths, p.Len(1))
				out = out.Cat(p, 1)
			}
			require.Equal(t, []int{1, 0, 2, 3, 2}, lengths, name)
			require.Equal(t, numbers(t, stream.Of(b.Forward(x, y))), numbers(t, out), name)
		}
	}
}

// piece is a part of a sequence, nothing if its length is 0.
func piece(x *tensor.Tensor, start, n int) stream.Tensor {
	if n == 0 {
		return stream.Tensor{}
	}
	return stream.Of(x).Narrow(1, start, n)
}

func TestBinOpErrors(t *testing.T) {
	d := open(t)
	x := tensor.From(d, []float32{1, 2}, 1, 2)
	bad := x.MulScalar(1).Reshape(3)
	b := stream.Add(1)
	require.True(t, b.Step(stream.Of(x), stream.Tensor{}).Empty())
	require.Equal(t, bad.Err(), b.Step(stream.Tensor{}, stream.Of(bad)).Err())
	require.Equal(t, []float32{2, 4}, numbers(t, b.Step(stream.Tensor{}, stream.Of(x))), "what was kept is still there")
	require.ErrorIs(t, stream.Add(2).Step(stream.Of(x), stream.Of(x)).Err(), tensor.ErrDim)
	require.ErrorIs(t, stream.Add(2).Step(stream.Of(x), stream.Tensor{}).Err(), tensor.ErrDim)
}

// pairs sums neighbours that do not overlap: a module with a memory.
type pairs struct{ rest stream.Tensor }

func (p *pairs) Step(x stream.Tensor) (out stream.Tensor) {
	x = p.rest.Cat(x, 0)
	x, p.rest = x.Split(0, x.Len(0)/2*2)
	return x.Apply(func(x *tensor.Tensor) *tensor.Tensor { return x.Reshape(tensor.Inferred, 2).Sum(1) })
}

func (p *pairs) Reset() { p.rest = stream.Tensor{} }

func TestModules(t *testing.T) {
	d := open(t)
	m := stream.Chain(stream.Map((*tensor.Tensor).Neg), &pairs{}, &pairs{})
	x := tensor.From(d, []float32{1, 2, 3, 4, 5, 6, 7, 8})
	for range 2 {
		var out stream.Tensor
		for _, at := range [][2]int{{0, 1}, {1, 1}, {2, 5}, {7, 1}} {
			out = out.Cat(m.Step(stream.Of(x.Narrow(0, at[0], at[1]))), 0)
		}
		require.Equal(t, []float32{-10, -26}, numbers(t, out))
		m.Step(stream.Of(x.Narrow(0, 0, 3)))
		m.Reset()
	}
	require.True(t, m.Step(stream.Tensor{}).Empty())
}

func ExampleBinOp() {
	dev, err := tensor.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	sum := stream.Add(0)
	early := sum.Step(stream.Of(tensor.From(dev, []float32{1, 2, 3})), stream.Tensor{})
	fmt.Println(early.Empty())
	late, _ := sum.Step(stream.Tensor{}, stream.Of(tensor.From(dev, []float32{10, 20}))).Get()
	fmt.Println(late)
	// Output:
	// true
	// [11., 22.]
	// Tensor[[2], f32]
}
