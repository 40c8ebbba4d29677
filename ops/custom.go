package ops

import (
	"fmt"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// Launch runs a kernel of a program. Among the arguments, those of type [View] are passed
// as the slices that begin at the first element and reach to the last one in memory, and
// those of type [layout.Layout] as [kernels.Strided]; the others as they are. It returns which
// arguments are slices that the kernel writes to.
func Launch(s *runtime.Stream, k *jit.Kernel, g runtime.Grid, args ...any) (written []bool, err error) {
	list := make([]any, len(args))
	for i, arg := range args {
		switch a := arg.(type) {
		case View:
			if !a.DType.Valid() || sliceOf[a.DType] == nil {
				return nil, fmt.Errorf("%w: argument %d is of %s, which no kernel takes", ErrDType, i+1, a.DType)
			}
			h := a.Header()
			list[i] = SliceArg(a.DType, &h)
		case layout.Layout:
			st, err := strided(a)
			if err != nil {
				return nil, fmt.Errorf("argument %d: %w", i+1, err)
			}
			list[i] = st
		default:
			list[i] = arg
		}
	}
	if err := k.Launch(s, g, list...); err != nil {
		return nil, err
	}
	return k.Writes(s.Device(), list...)
}

// strided is a layout as kernels take it.
func strided(l layout.Layout) (kernels.Strided, error) {
	if l.Rank() > kernels.MaxRank {
		return kernels.Strided{}, fmt.Errorf("%w: %d dimensions of %v, kernels go over %d", layout.ErrRank, l.Rank(), l.Shape(), kernels.MaxRank)
	}
	s := kernels.Strided{Rank: dsl.ConstInt(l.Rank()), Count: l.Count()}
	copy(s.Size[:], l.Shape())
	copy(s.Step[:], l.Strides())
	return s, nil
}
