package tensor_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/tensor"
)

var update = flag.Bool("update", false, "write testdata/types.txt")

// TestTypes compares which element types each method of tensors is for with a table, which
// documents them and has every method.
func TestTypes(t *testing.T) {
	d := open(t)
	var out strings.Builder
	out.WriteString("# Methods of tensors, and the element types that they are for: numbers are all but those\n" +
		"# for storage only, floats and integers the two kinds of them. - is for methods whose operands are\n" +
		"# not made up here, or that give no tensor. Written by TestTypes -update.\n")
	for m := range reflect.TypeFor[*tensor.Tensor]().Methods() {
		var list []string
		takes := map[tensor.DType]bool{}
		for _, dt := range allTypes() {
			ok, called := takesType(d, m, dt)
			if !called || slices.Contains(unlike, m.Name) {
				break
			}
			if takes[dt] = ok; ok {
				list = append(list, dt.String())
			}
		}
		of := "-"
		if len(takes) > 0 {
			of = kinds(takes, list)
		}
		fmt.Fprintf(&out, "%-20s %s\n", m.Name, of)
	}
	const golden = "testdata/types.txt"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(out.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), out.String(), "after a change that is meant: go test ./tensor -run TestTypes -update")
}

// unlike are the methods that no elements say nothing of.
var unlike = []string{"Bucketize", "Histc", "Unique"}

// indexed are the methods whose first operand besides is indices or a mask.
var indexed = []string{"Gather", "Scatter", "ScatterAdd", "IndexAdd", "IndexSelect", "Embedding", "Take", "MaskedFill", "MaskedSelect", "MaskedScatter", "MaxUnpool"}

// allTypes are those that operations compute with and those for storage only.
func allTypes() []tensor.DType {
	return append(dtype.All(), tensor.F4, tensor.F6E2M3, tensor.F6E3M2, tensor.F8E8M0)
}

// takesType calls a method, if its parameters are of the usual kinds, with a tensor of no
// elements, for which nothing is compiled, and reports whether it is for the type.
func takesType(d *tensor.Device, m reflect.Method, dt tensor.DType) (ok, called bool) {
	x, y := tensor.Empty(d, dt, 0, 2), tensor.Empty(d, dt, 0, 2)
	ids := tensor.Empty(d, tensor.I64, 0, 2)
	switch m.Name {
	case "MatMul", "MV", "Dot":
		x, y = tensor.Empty(d, dt, 2, 0), tensor.Empty(d, dt, 0)
		if m.Name == "Dot" {
			x = y
		}
	case "IndexAdd":
		ids = tensor.Zeros(d, tensor.I64, 2)
	}
	args := []reflect.Value{reflect.ValueOf(x)}
	switch {
	case m.Name == "Where": // of which the receiver is the condition
		args[0] = reflect.ValueOf(ids)
	case slices.Contains(indexed, m.Name):
		args = append(args, reflect.ValueOf(ids))
	case m.Name == "GroupedMatMul":
		args = append(args, reflect.ValueOf(tensor.Empty(d, dt, 0, 2, 3)), reflect.ValueOf(tensor.Empty(d, tensor.I32, 0)))
	}
	for i := len(args); i < m.Type.NumIn(); i++ {
		switch in := m.Type.In(i); {
		case in == reflect.TypeFor[*tensor.Tensor]():
			args = append(args, reflect.ValueOf(y))
		case in.Kind() == reflect.Float64:
			args = append(args, reflect.ValueOf(1.0))
		case in.Kind() == reflect.Int:
			args = append(args, reflect.ValueOf(1).Convert(in))
		case in.Kind() == reflect.Bool:
			args = append(args, reflect.ValueOf(true))
		case m.Type.IsVariadic() && in == reflect.TypeFor[[]int]():
			if m.Name == "Reshape" || m.Name == "BroadcastTo" || m.Name == "Expand" || m.Name == "UpsampleNearest" {
				args = append(args, reflect.ValueOf(0), reflect.ValueOf(2))
			}
		default:
			return false, false
		}
	}
	if m.Type.NumOut() == 0 || m.Type.Out(0) != reflect.TypeFor[*tensor.Tensor]() {
		return false, false
	}
	err := m.Func.Call(args)[0].Interface().(*tensor.Tensor).Err()
	return !errors.Is(err, tensor.ErrDType), true
}

// kinds is a list of types by the names of their kinds.
func kinds(takes map[tensor.DType]bool, list []string) string {
	is := func(want func(tensor.DType) bool) bool {
		for dt, ok := range takes {
			if ok != want(dt) {
				return false
			}
		}
		return true
	}
	switch {
	case is(func(tensor.DType) bool { return true }):
		return "all"
	case is(tensor.DType.Computes):
		return "numbers"
	case is(tensor.DType.IsFloat):
		return "floats"
	case is(tensor.DType.IsInt):
		return "integers"
	}
	return strings.Join(list, " ")
}

// Elements that are for storage only are moved: whole where they share bytes.
func TestStorageOnly(t *testing.T) {
	d := open(t)
	raw := func(x *tensor.Tensor) []byte {
		t.Helper()
		b, err := x.Bytes()
		require.NoError(t, err)
		return b
	}
	x := tensor.FromBytes(d, tensor.F8E8M0, []byte{1, 2, 3, 4, 5, 6}, 2, 3)
	require.Equal(t, []byte{1, 4, 2, 5, 3, 6}, raw(x.T().Copy()))
	require.Equal(t, []byte{2, 3, 5, 6, 2, 3, 5, 6}, raw(tensor.Cat(0, x.Narrow(1, 1, 2), x.Index(tensor.All, tensor.SliceFrom(1)))))
	require.Equal(t, []byte{4, 5, 6, 4, 5, 6}, raw(x.Get(1).BroadcastTo(2, 3)))
	require.NoError(t, x.Get(0).Assign(x.Get(1)))
	require.Equal(t, []byte{4, 5, 6, 4, 5, 6}, raw(x))
	packed := tensor.FromBytes(d, tensor.F6E2M3, []byte{1, 2, 3}, 2, 2)
	require.Equal(t, []byte{1, 2, 3}, raw(packed.Copy().Reshape(4)))
	other := tensor.Empty(d, tensor.F6E2M3, 2, 2)
	require.NoError(t, other.Assign(packed))
	require.Equal(t, []byte{1, 2, 3}, raw(other))
	for _, bad := range []*tensor.Tensor{
		packed.T().Get(1), packed.Narrow(0, 1, 1), packed.T().Copy(), tensor.Cat(0, packed, packed), packed.Flip(0), packed.Sum(), packed.Cast(tensor.F32),
		packed.IndexSelect(tensor.From(d, []int64{1}), 0), packed.Gather(tensor.Zeros(d, tensor.I64, 1, 1), 0), packed.Softmax(0), packed.MatMul(packed), packed.Unsqueeze(0).MaxPool(tensor.Pooling{Kernel: []int{1}}),
	} {
		require.ErrorIs(t, bad.Err(), tensor.ErrDType)
	}
}
