package ops_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise/kernels"
	rowskernels "github.com/gokiln/kiln/ops/rows/kernels"
)

// prototype has every form in which a kernel uses type parameters.
func prototype(t dsl.Thread, out []ops.O, x []ops.T, ids []ops.I, mask []ops.M, keys []ops.K,
	eps ops.C, pairs [][2]ops.C, acc rowskernels.Acc[ops.C], n []uint32,
	in both[ops.T], to both[ops.O], f func(a ops.C, b rowskernels.Acc[ops.C]) (ops.C, bool)) {
}

// both is a generic struct whose instances for elements are registered, too.
type both[E any] struct{ X, Y []E }

// TestGenericTypes instantiates the prototype: the last parameter, a function, is compared as well
// as those before it.
func TestGenericTypes(t *testing.T) {
	ops.RegisterStructs(rowskernels.Acc[float32]{}, rowskernels.Acc[float64]{})
	ops.RegisterStructs(both[dsl.BF16]{}, both[dsl.F16]{}, both[int32]{})
	for _, c := range []struct {
		args ops.TypeArgs
		want any
	}{
		{ops.TypeArgs{T: dtype.BF16, I: dtype.I64, M: dtype.U8, K: reflect.TypeFor[uint64]()},
			func(dsl.Thread, []dsl.BF16, []dsl.BF16, []int64, []uint8, []uint64, float32, [][2]float32,
				rowskernels.Acc[float32], []uint32, both[dsl.BF16], both[dsl.BF16], func(float32, rowskernels.Acc[float32]) (float32, bool)) {
			}},
		{ops.TypeArgs{T: dtype.F16, O: dtype.I32, C: dtype.F64, I: dtype.U32, M: dtype.I16, K: reflect.TypeFor[uint32]()},
			func(dsl.Thread, []int32, []dsl.F16, []uint32, []int16, []uint32, float64, [][2]float64,
				rowskernels.Acc[float64], []uint32, both[dsl.F16], both[int32], func(float64, rowskernels.Acc[float64]) (float64, bool)) {
			}},
	} {
		if got, want := ops.InstanceType(c.args, prototype), reflect.TypeOf(c.want); got != want {
			t.Errorf("%v:\n got %v\nwant %v", c.args, got, want)
		}
	}
}

// TestGenericInstances asks for the same instance twice, for two others, and for one of a type
// that nothing computes with.
func TestGenericInstances(t *testing.T) {
	g := ops.NewGeneric("fill", kernels.Fill[ops.T])
	first, err := g.Of(ops.TypeArgs{T: dtype.F16})
	if err != nil || first.Err() != nil {
		t.Fatal(err, first.Err())
	}
	if again, _ := g.Of(ops.TypeArgs{T: dtype.F16}); again != first {
		t.Error("the second time there is another instance")
	}
	if other, _ := g.Of(ops.TypeArgs{T: dtype.I16}); other == first || other.Name() != first.Name() {
		t.Errorf("I16 has %s, F16 %s: want two instances of one kernel", other.Name(), first.Name())
	}
	if _, err := g.Of(ops.TypeArgs{T: dtype.F4}); !errors.Is(err, ops.ErrDType) {
		t.Errorf("F4: %v, want ErrDType", err)
	}
	if got, want := ops.Add.In(dtype.F64), ops.Add.In(dtype.F32); got == want || got != ops.Add.In(dtype.F64) {
		t.Error("Add: want one instance a type, the same each time")
	}
}
