package regalloc

import (
	"fmt"
	"sync"
)

var pool = sync.Pool{New: func() any { return new(alloc) }}

// Run allocates the registers of f, in place. After it f has no virtual
// registers, no UNDEF and no COPY; BARRIER stays.
func Run(f *Func, cfg Config) (Result, error) {
	a := pool.Get().(*alloc)
	defer pool.Put(a)
	return a.run(f, cfg, nil)
}

func (a *alloc) run(f *Func, cfg Config, trace *Trace) (Result, error) {
	a.f, a.cfg, a.trace, a.stats = f, cfg, trace, Stats{}
	defer func() { a.f, a.trace = nil, nil }()
	if len(f.Blocks) == 0 {
		return Result{FrameSize: cfg.Offset}, nil
	}
	a.number()
	if err := a.findBlocks(); err != nil {
		return Result{}, err
	}
	a.findLoops()
	a.decode()
	a.liveness()
	if err := a.checkEntry(); err != nil {
		return Result{}, err
	}
	if err := a.buildRanges(); err != nil {
		return Result{}, err
	}
	a.coalesce()
	a.flatten()
	if err := a.scan(); err != nil {
		return Result{}, err
	}
	a.resolve()
	a.assignSlots()
	a.rewrite()
	return Result{FrameSize: a.frame.size, Stats: a.stats}, nil
}

// number gives the virtual registers of all classes one numbering.
func (a *alloc) number() {
	n := int32(0)
	for c := range a.f.Virt {
		a.base[c] = n
		n += int32(a.f.Virt[c])
	}
	a.base[4] = n
	for c := range a.physOf {
		for i := range a.physOf[c] {
			a.physOf[c][i] = -1
		}
		for i, r := range a.cfg.Regs[c] {
			a.physOf[c][r.Num()] = int8(i)
		}
	}
}

// checkEntry reports a register that is live where the code begins.
func (a *alloc) checkEntry() error {
	for w, bits := range a.liveIn[:a.words] {
		if bits != 0 {
			v := int32(w*64) + trailing(bits)
			return fmt.Errorf("regalloc: %w: virtual register %d of class %d; write or UNDEF it on every path to its first use", ErrUndefined, a.regOf(v).Num(), a.regOf(v).Class())
		}
	}
	return nil
}
