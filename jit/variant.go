package jit

import (
	"encoding/binary"
	"errors"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/pass"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/runtime"
)

// mostAssumed is what the first code of a kernel assumes: what nearly all
// launches have. Targets whose code would not differ have one variant.
func mostAssumed(t target.Target) compiler.Assume {
	if t.Kind == target.Interp {
		return 0
	}
	return compiler.Small | compiler.Aligned | compiler.Disjoint
}

// variant returns the code for launches that have the properties a, compiling
// it at the first such launch.
func (k *Kernel) variant(in *instance, a compiler.Assume) (*runtime.Function, error) {
	if a == in.assumed {
		return in.fn, nil
	}
	if fn := in.variants[a].Load(); fn != nil {
		return fn, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if fn := in.variants[a].Load(); fn != nil {
		return fn, nil
	}
	other, err := k.resolve(in.dev, in.consts, a)
	if err != nil {
		return nil, err
	}
	in.variants[a].Store(other.fn)
	return other.fn, nil
}

// prebuilt calls resolve for a and, as long as that is not prebuilt, for less
// and less of it: such code is right too.
func prebuilt(a compiler.Assume, resolve func(compiler.Assume) (*image, error)) (*image, error) {
	im, first := resolve(a)
	err := first
	for b := a; errors.Is(err, ErrNotPrebuilt) && b != 0; {
		b = (b - 1) & a
		im, err = resolve(b)
	}
	if err != nil {
		return nil, first
	}
	return im, nil
}

// properties returns which of the properties that the first code assumes a
// launch has.
func (in *instance) properties(g runtime.Grid, block []byte) compiler.Assume {
	a := in.assumed
	if a == 0 {
		return 0
	}
	if !smallAxis(g.Blocks.X, g.Threads.X) || !smallAxis(g.Blocks.Y, g.Threads.Y) || !smallAxis(g.Blocks.Z, g.Threads.Z) {
		a &^= compiler.Small
	}
	for i := range in.plan {
		p := &in.plan[i]
		switch {
		case p.Slice:
			a &^= in.lacks(i, block)
		case p.Go == "int" && !p.Const:
			if x := int64(binary.LittleEndian.Uint64(block[p.Offset:])); x >= pass.SmallLen || x <= -pass.SmallLen {
				a &^= compiler.Small
			}
		}
	}
	return a
}

func smallAxis(blocks, threads int) bool {
	blocks, threads = max(blocks, 1), max(threads, 1)
	return blocks <= pass.SmallBlocks && blocks <= pass.SmallThreads/threads
}

// lacks returns the properties that the slice in argument i takes away.
func (in *instance) lacks(i int, block []byte) (a compiler.Assume) {
	begin, end := in.extent(i, block)
	p := &in.plan[i]
	if begin%16 != 0 {
		a |= compiler.Aligned
	}
	if binary.LittleEndian.Uint64(block[p.Offset+8:]) >= pass.SmallLen {
		a |= compiler.Small
	}
	for j := range in.plan {
		if !p.Written || j == i || !in.plan[j].Slice {
			continue
		}
		if b, e := in.extent(j, block); begin < e && b < end {
			a |= compiler.Disjoint
		}
	}
	return a
}

// extent returns where the slice in argument i begins and ends.
func (in *instance) extent(i int, block []byte) (begin, end uint64) {
	p := &in.plan[i]
	begin = binary.LittleEndian.Uint64(block[p.Offset:])
	return begin, begin + binary.LittleEndian.Uint64(block[p.Offset+8:])*uint64(p.Size)
}
