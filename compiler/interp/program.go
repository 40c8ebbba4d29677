package interp

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gokiln/kiln/compiler/ir"
)

// Program is a kernel ready to run. It may be run by several goroutines at once.
type Program struct {
	module *ir.Module
	g      *graph
	name   string
	args   []arg
	length *ir.Length // of the array that a launch sizes, nil if there is none
	size   int        // bytes of the argument block

	mu    sync.Mutex
	code  [2]*lowered // by rows
	plans map[planKey]*plan
	known map[[3]int]*chosen // by block
	last  atomic.Pointer[chosen]
	cost  atomic.Int64 // nanoseconds a block took lately
}

// arg is a parameter in the argument block.
type arg struct {
	off  int
	size uint8
}

type planKey struct {
	lanes int
	rows  bool
}

// chosen is a plan with the launch geometry it was made for.
type chosen struct {
	block [3]int
	strip int
	rows  bool
	plan  *plan
}

// Option changes how a program runs.
type Option func(*options)

type options struct{ warp int }

// Warp has the program run with warps of n threads, a power of two from 4 to
// [WarpSize]. The module must have been compiled for warps of that size.
func Warp(n int) Option { return func(o *options) { o.warp = n } }

// Load parses and verifies the text form of a module and prepares its kernel.
// The module must have its calls inlined. name is what errors call the text.
func Load(name string, text []byte, opts ...Option) (*Program, error) {
	m, err := ir.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", name, err)
	}
	p, err := New(m, opts...)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", name, err)
	}
	return p, nil
}

// Shared returns the bytes of shared memory that a block has whatever the launch asks for.
func (p *Program) Shared() int { return p.code[0].shared }

// New verifies a module and prepares its kernel. The module must not be changed
// afterwards.
func New(m *ir.Module, opts ...Option) (*Program, error) {
	o := options{warp: WarpSize}
	for _, opt := range opts {
		opt(&o)
	}
	if o.warp < 4 || o.warp > WarpSize || o.warp&(o.warp-1) != 0 {
		return nil, fmt.Errorf("warps of %d threads: want a power of two from 4 to %d", o.warp, WarpSize)
	}
	if err := ir.Verify(m); err != nil {
		return nil, fmt.Errorf("malformed module: %w", err)
	}
	f := m.Kernel()
	if f == nil {
		return nil, errors.New("the module has no kernel")
	}
	if polls(f) {
		splitAtMeetings(f)
	}
	g, err := newGraph(f)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", f.Name, err)
	}
	p := &Program{module: m, g: g, name: f.Name, plans: map[planKey]*plan{}, known: map[[3]int]*chosen{}}
	var at []int
	at, p.size = f.ParamOffsets()
	for i, v := range f.Params {
		p.args = append(p.args, arg{at[i], uint8(v.Type.Size())})
	}
	if p.length = m.DynamicLength(); p.length == nil && m.Dynamic() != nil {
		return nil, fmt.Errorf("kernel %s: no parameter %d to be the length of an array", f.Name, m.Dynamic().Param)
	}
	for i := range p.code {
		if p.code[i], err = lower(m, g, i != 0); err != nil {
			return nil, err
		}
		p.code[i].warp = o.warp
	}
	return p, nil
}

// Name returns the name of the kernel.
func (p *Program) Name() string { return p.name }

// ArgSize returns the size of the argument block in bytes; [ir.Layout] says what
// lies where in it.
func (p *Program) ArgSize() int { return p.size }

// choose returns the plan for blocks of the given size.
func (p *Program) choose(block [3]int) (*chosen, error) {
	if c := p.last.Load(); c != nil && c.block == block {
		return c, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.known[block]
	if c == nil {
		n := block[0] * block[1] * block[2]
		if p.code[0].warps {
			if err := CheckWarps(p.name, n, p.code[0].warp); err != nil {
				return nil, err
			}
		}
		c = p.planFor(block, n)
		p.known[block] = c
	}
	p.last.Store(c)
	return c, nil
}

func (p *Program) planFor(block [3]int, n int) *chosen {
	l := p.code[0]
	c := &chosen{block: block, rows: n == block[0] || !l.whole && block[0]%WarpSize == 0}
	if c.rows {
		l, n = p.code[1], block[0]
	}
	c.strip = n
	if !l.whole {
		c.strip = l.stripLength(n)
	}
	key := planKey{(c.strip + 63) &^ 63, c.rows}
	c.plan = p.plans[key]
	if c.plan == nil {
		c.plan = l.allocate(key.lanes)
		p.plans[key] = c.plan
	}
	return c
}

// registerBytes is the part of the first-level cache that arrays may take.
const registerBytes = 24 << 10

// stripLength returns how many of n threads to run at a time: equal parts that
// keep the arrays in the first-level cache, of whole warps.
func (l *lowered) stripLength(n int) int {
	const probe = 1024
	perLane := max((l.allocate(probe).bytes-int(l.scalars))/probe, 1)
	most := max(registerBytes/perLane&^(WarpSize-1), 2*WarpSize)
	if n <= most+most/2 {
		return n
	}
	parts := (n + most - 1) / most
	return ((n+parts-1)/parts + WarpSize - 1) &^ (WarpSize - 1)
}
