package amd64

import (
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// compute emits an operation without effects, unless its user does.
func (e *emitter) compute(v *ir.Value) error {
	if _, is := e.quick[v]; is {
		return nil
	}
	return e.computeNow(v)
}

func (e *emitter) computeNow(v *ir.Value) (err error) {
	s := e.Of(v)
	args := make([]val, len(v.Args))
	switch {
	case e.fused[v.ID], e.lazy[v.ID], e.negated[v.ID]:
		return nil
	case s.Kind == analysis.AffineLanes:
		return e.linear(v)
	case s.Kind == analysis.VaryingLanes && e.mixed[v].sum != nil:
		e.vals[v.ID] = e.multiplyMixed(e.mixed[v])
		return nil
	case e.lookups[v].word != nil:
		e.vals[v.ID] = e.lookUp(e.lookups[v])
		return nil
	case v.Op == ir.OpFMA:
		v = e.withoutNegations(v)
	case v.Op == ir.OpBitcast && s.Kind == analysis.UniformLanes && inVector(v.Type) && v.Type.Size() == 4:
		if r, ok := e.spreadNear(v.Args[0]); ok {
			r.splat = true
			e.vals[v.ID] = r
			return nil
		}
	}
	vectors := s.Kind == analysis.VaryingLanes || e.inVectors(v)
	for i, x := range v.Args {
		switch {
		case x.Op == ir.OpConst && vectors && e.takesConstant(v, i), x.Op == ir.OpConst && !vectors && e.inInstruction(v, i):
		case s.Kind == analysis.VaryingLanes:
			args[i] = e.vectors(x)
		default:
			args[i] = e.kept(x)
		}
	}
	if s.Kind == analysis.VaryingLanes {
		e.vals[v.ID], err = e.vector(v, args)
	} else {
		e.vals[v.ID], err = e.uniform(v, args)
	}
	return err
}
