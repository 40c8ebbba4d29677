package quantized

import (
	"reflect"
	"sync"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// prototype is the format that prototypes of kernels are for: instances are for others in its place.
type prototype = format.BlockQ4_0

// family is a kernel over the format of blocks and over element types, of which prototypes have
// float32 in the place of the one of results, int32 in that of indices, and BF16 in that of factors.
type family struct {
	kernel *jit.Kernel
	typ    reflect.Type
	made   sync.Map // instance -> *jit.Kernel
}

type instance struct {
	of          format.Type
	out, id, in dtype.DType
}

func newFamily(prototype any) *family {
	return &family{kernel: jit.Of(prototype), typ: reflect.TypeOf(prototype)}
}

// of returns the kernel for a format, a type of results, and those of indices and factors if it has any.
func (f *family) of(i instance) (*jit.Kernel, error) {
	if k, ok := f.made.Load(i); ok {
		return k.(*jit.Kernel), nil
	}
	block, err := i.of.Block()
	if err != nil {
		return nil, err
	}
	params := make([]reflect.Type, f.typ.NumIn())
	for n := range params {
		switch p := f.typ.In(n); p {
		case reflect.TypeFor[prototype]():
			params[n] = reflect.TypeOf(block)
		case reflect.TypeFor[[]float32]():
			params[n] = reflect.SliceOf(i.out.Type())
		case reflect.TypeFor[[]int32]():
			params[n] = reflect.SliceOf(i.id.Type())
		case reflect.TypeFor[[]dsl.BF16]():
			params[n] = reflect.SliceOf(i.in.Type())
		default:
			params[n] = p
		}
	}
	k, _ := f.made.LoadOrStore(i, f.kernel.As(reflect.FuncOf(params, nil, false)))
	return k.(*jit.Kernel), nil
}

// launch runs a kernel whose parameters are the result, some in front of the blocks, the blocks,
// some behind them, and the format.
func (q *Tensor) launch(out *tensor.Tensor, k *jit.Kernel, g runtime.Grid, front []any, behind ...any) *tensor.Tensor {
	v, err := blocksOf(q.data)
	if err != nil {
		return tensor.Fail("launch", err)
	}
	f, err := q.of.Block()
	if err != nil {
		return tensor.Fail("launch", err)
	}
	args := append(append(append([]any{}, front...), v.b, v.h, v.w), behind...)
	return tensor.LaunchInto(out, k, g, append(args, f)...)
}
