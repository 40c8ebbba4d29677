package tensor_test

import (
	"errors"
	"math"
	"regexp"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// TestErrorKinds makes an error of every kind, each of an operation on a line of its own,
// which the error names together with the operation.
func TestErrorKinds(t *testing.T) {
	d := open(t)
	x, y := count(d, 2, 3), count(d, 2, 2)
	ints := x.Cast(tensor.I32)
	far := count(d, 1, 1).BroadcastTo(1<<62, 1)
	v := tensor.NewVar(x)
	freed := count(d, 2)
	require.NoError(t, freed.Free())
	other, err := tensor.Open("cpu:interp8")
	require.NoError(t, err)
	defer other.Close()
	of := func(x *tensor.Tensor, _ ...any) error { return x.Err() }
	for _, c := range []struct {
		kind error
		op   string
		err  error
		line int
	}{
		{tensor.ErrDTypeMismatch, "to slice", second(tensor.ToSlice[float64](x)), line()},
		{tensor.ErrDTypeMismatch, "add", of(x.Add(ints)), line()},
		{tensor.ErrDType, "exp", of(ints.Exp()), line()},
		{tensor.ErrDType, "cast", of(tensor.FromBytes(d, tensor.F4, []byte{1}).Cast(tensor.F32)), line()},
		{tensor.ErrDType, "gather", of(x.Gather(x, 0)), line()},
		{tensor.ErrDim, "sum", of(x.Sum(2)), line()},
		{tensor.ErrDim, "softmax", of(x.Softmax(-3)), line()},
		{tensor.ErrDim, "transpose", of(x.Transpose(0, 2)), line()},
		{tensor.ErrDuplicateDim, "sum", of(x.Sum(0, -2)), line()},
		{tensor.ErrDuplicateDim, "permute", of(x.Permute(0, 0)), line()},
		{tensor.ErrRank, "mv", of(x.MV(x)), line()},
		{tensor.ErrRank, "to 1", second(tensor.To1[float32](x)), line()},
		{tensor.ErrRank, "t", of(x.Get(0).T()), line()},
		{tensor.ErrShape, "reshape", of(x.Reshape(4, tensor.Inferred)), line()},
		{tensor.ErrShape, "from", of(tensor.From(d, []float32{1, 2}, 3)), line()},
		{tensor.ErrShape, "new", of(tensor.New(d, [][]float32{{1}, {2, 3}})), line()},
		{tensor.ErrShape, "cat", of(tensor.Cat(0, x, y)), line()},
		{tensor.ErrShape, "stack", of(tensor.Stack(0, x, y)), line()},
		{tensor.ErrShape, "split", of(x.Split([]int{1, 1}, 1)[0]), line()},
		{tensor.ErrShape, "matmul", of(x.MatMul(x)), line()},
		{tensor.ErrShape, "conv", of(count(d, 1, 2, 5).Conv(count(d, 1, 3, 2), tensor.Convolution{})), line()},
		{tensor.ErrBroadcast, "mul", of(x.Mul(y)), line()},
		{tensor.ErrBroadcast, "where", of(x.GtScalar(0).Where(x, y)), line()},
		{tensor.ErrBroadcast, "broadcast", of(x.BroadcastTo(2, 4)), line()},
		{tensor.ErrRange, "narrow", of(x.Narrow(1, 2, 2)), line()},
		{tensor.ErrRange, "unfold", of(x.Unfold(1, 4, 1)), line()},
		{tensor.ErrIndex, "get", of(x.Get(2)), line()},
		{tensor.ErrEmpty, "max", of(x.Narrow(0, 0, 0).Max(0)), line()},
		{tensor.ErrEmpty, "quantile", of(x.Narrow(0, 0, 0).Median(0)), line()},
		{tensor.ErrEmpty, "argmin", of(x.Narrow(0, 0, 0).ArgMin()), line()},
		{tensor.ErrDevice, "add", of(x.Add(tensor.Zeros(other, tensor.F32, 2, 3))), line()},
		{tensor.ErrDevice, "cat", of(tensor.Cat(0, x, tensor.Zeros(other, tensor.F32, 2, 3))), line()},
		{tensor.ErrVar, "set", v.Set(y), line()},
		{tensor.ErrVar, "set", v.Set(v.Tensor()), line()},
		{tensor.ErrArgument, "slice set", x.SliceSet(x, 0, 0), line()},
		{tensor.ErrArgument, "cat", of(tensor.Cat(0)), line()},
		{tensor.ErrArgument, "stack", of(tensor.Stack(0)), line()},
		{tensor.ErrArgument, "meshgrid", of(tensor.Meshgrid(true, x.Get(0))[0]), line()},
		{tensor.ErrArgument, "arange", of(tensor.ArangeStep(d, 0, float32(1), 0)), line()},
		{tensor.ErrArgument, "sub", of(x.Sub(nil)), line()},
		{tensor.ErrArgument, "sub", of(x.Sub(new(tensor.Tensor))), line()},
		{tensor.ErrArgument, "err", new(tensor.Tensor).Err(), line()},
		{tensor.ErrArgument, "scatter_reduce", of(x.ScatterReduce(nil, ints, x, 0, true)), line()},
		{tensor.ErrArgument, "scatter_reduce", of(x.ScatterReduce(new(tensor.ScatterBy), ints, x, 0, true)), line()},
		{tensor.ErrTooLarge, "max_unpool", of(x.MaxUnpool(ints, 1<<32, 1<<32)), line()},
		{tensor.ErrTooLarge, "max_pool", of(x.MaxPool(tensor.Pooling{Kernel: []int{1<<62 + 1}, Dilation: []int{4}})), line()},
		{tensor.ErrEmpty, "max_pool", of(x.MaxPool(tensor.Pooling{Kernel: []int{2}, Padding: []int{1}, Dilation: []int{4}})), line()},
		{tensor.ErrTooLarge, "pad", of(x.Pad(0, math.MaxInt, math.MaxInt, tensor.PadConstant, 0)), line()},
		{tensor.ErrTooLarge, "cat", of(tensor.Cat(0, far, far, far, far)), line()},
		{tensor.ErrTooLarge, "diag_embed", of(x.DiagEmbed(math.MinInt)), line()},
		{tensor.ErrTooLarge, "zeros", of(tensor.Zeros(d, tensor.F32, 1<<40, 1<<40)), line()},
		{tensor.ErrNoGradient, "backward", second(x.Backward()), line()},
		{tensor.ErrFunction, "map", of(tensor.Map(func(x float32) float32 { return x }, ints)), line()},
		{tensor.ErrFreed, "exp", of(freed.Exp()), line()},
		{tensor.ErrOutOfMemory, "zeros", of(tensor.Zeros(d, tensor.U8, 1<<46)), line()},
	} {
		name := c.op + " at line " + strconv.Itoa(c.line)
		require.ErrorIs(t, c.err, c.kind, name)
		e, ok := errors.AsType[*tensor.Error](c.err)
		require.True(t, ok, name)
		require.Equal(t, c.op, e.Op, name)
		require.Equal(t, "errors_test.go:"+strconv.Itoa(c.line), e.Pos, name)
		require.Regexp(t, "^"+regexp.QuoteMeta(c.op)+": .+ "+regexp.QuoteMeta("("+e.Pos+")")+"$", e.Error())
	}
	_, err = tensor.Open("cuda:99")
	require.ErrorIs(t, err, tensor.ErrNoDevice)
	_, err = tensor.Open("abacus")
	require.ErrorIs(t, err, tensor.ErrNoDevice)
}

// An index that a kernel finds out of range is of the kind of those that are found before.
func TestIndexKind(t *testing.T) {
	d := open(t)
	for name, f := range map[string]func(x, one, ids *tensor.Tensor) *tensor.Tensor{
		"index_select": func(x, _, ids *tensor.Tensor) *tensor.Tensor { return x.IndexSelect(ids.Reshape(1), 0) },
		"gather":       func(x, _, ids *tensor.Tensor) *tensor.Tensor { return x.Gather(ids, 0) },
		"scatter":      func(x, one, ids *tensor.Tensor) *tensor.Tensor { return x.Scatter(ids, one, 1) },
		"scatter_add":  func(x, one, ids *tensor.Tensor) *tensor.Tensor { return x.ScatterAdd(ids, one, 1) },
		"take":         func(x, _, ids *tensor.Tensor) *tensor.Tensor { return x.Get(0).Take(ids) },
		"embedding":    func(x, _, ids *tensor.Tensor) *tensor.Tensor { return x.Embedding(ids) },
		"max_unpool":   func(_, one, ids *tensor.Tensor) *tensor.Tensor { return one.MaxUnpool(ids, 2, 4) },
		"index_put": func(x, one, ids *tensor.Tensor) *tensor.Tensor {
			return x.T().Narrow(0, 0, 1).IndexPut([]*tensor.Tensor{ids}, one, false)
		},
		"index_add": func(x, _, ids *tensor.Tensor) *tensor.Tensor { return x.IndexAdd(ids.Reshape(1), x.Narrow(1, 0, 1), 1) },
	} {
		for _, id := range []int32{9, -2} {
			x := f(count(d, 4, 3), count(d, 1, 1), tensor.From(d, []int32{id}, 1, 1))
			if early := x.Err(); early != nil {
				require.ErrorIs(t, early, tensor.ErrIndex, name)
			}
			err := d.Synchronize()
			require.ErrorIs(t, err, tensor.ErrIndex, name)
			require.ErrorIs(t, err, tensor.ErrKernel, name)
			require.ErrorContains(t, err, name+": index "+strconv.Itoa(int(id))+" at position 0 is out of range")
		}
	}
	require.NoError(t, d.Synchronize())
}

func second[T any](_ T, err error) error { return err }

// line is the line that it is called on.
func line() int {
	_, _, n, _ := runtime.Caller(1)
	return n
}
