package jit

import (
	"fmt"
	"reflect"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/gokiln/kiln/compiler/code"
	"github.com/gokiln/kiln/runtime"
)

// param says how an argument of a launch, or a field of one, goes into the argument block.
type param struct {
	code.Arg
	arg    int            // which argument of the launch
	from   uintptr        // where it begins there
	goType reflect.Type   // the kernel's parameter type, of the whole argument
	access runtime.Access // of a slice
	typ    atomic.Uintptr // type word of the arguments seen and found right
}

// planArgs pairs the parameters of the compiled kernel with those of the Go
// function that the handle was made from.
func planArgs(args []code.Arg, fn reflect.Type) ([]param, error) {
	p := planner{args: args, plan: make([]param, len(args))}
	for i := 1; i < fn.NumIn(); i++ {
		p.arg, p.whole = i-1, fn.In(i)
		if err := p.part(fn.In(i), 0); err != nil {
			return nil, err
		}
	}
	if p.n != len(args) {
		return nil, fmt.Errorf("compiled kernel has %d parameters, the function %s has %d", len(args), fn, p.n)
	}
	return p.plan, nil
}

type planner struct {
	args  []code.Arg
	plan  []param
	n     int // arguments paired, and those that the function has too many
	arg   int
	whole reflect.Type
}

// part pairs the part of a parameter of type t that begins at from in the argument of a
// launch. The fields of a struct with slices are parameters of the compiled kernel.
func (p *planner) part(t reflect.Type, from uintptr) error {
	if holdsSlices(t) {
		host := hostLayout(t)
		for i := range t.NumField() {
			if err := p.part(t.Field(i).Type, from+host.Field(i).Offset); err != nil {
				return err
			}
		}
		return nil
	}
	i := p.n
	if p.n++; i >= len(p.args) {
		return nil
	}
	a, elem := p.args[i], t
	if a.Slice && t.Kind() == reflect.Slice {
		elem = t.Elem()
	}
	if a.Slice != (t.Kind() == reflect.Slice) || int(elem.Size()) != a.Size {
		return fmt.Errorf("parameter %s is %s in the compiled kernel, %s in the function", a.Name, a.Go, t)
	}
	if !sameBasic(a.Go, t) {
		return fmt.Errorf("parameter %s is %s in the kernel, %s in the type that the handle was made for", a.Name, a.Go, t)
	}
	p.plan[i].Arg, p.plan[i].arg, p.plan[i].from, p.plan[i].goType = a, p.arg, from, p.whole
	p.plan[i].access = runtime.Reads
	if a.Written {
		p.plan[i].access |= runtime.Writes
	}
	return nil
}

// iface is the memory of an interface value: the argument's type and a pointer
// to the argument. Reading it directly, instead of by a type switch, covers
// every element type and lets the compiler keep the arguments on the caller's
// stack.
type iface struct {
	typ  uintptr // of a type descriptor; types are never freed
	data unsafe.Pointer
}

// smallBlock is the size up to which argument blocks are on the stack, maxPooled
// that up to which they do not allocate: what a launch on a GPU takes. smallUses and
// maxUses are the same of slices among the arguments.
const (
	smallBlock = 256
	maxPooled  = 4096
	smallUses  = 8
	maxUses    = 64
)

// largeBlock is an argument block, and the memory that it points to.
type largeBlock struct {
	block [maxPooled]byte
	uses  [maxUses]runtime.Use
}

var largeBlocks = sync.Pool{New: func() any { return new(largeBlock) }}

// Launch runs the kernel on a stream over a grid. The arguments are the kernel's parameters after
// the Thread, of exactly their types: a scalar for a scalar, a struct for a struct, a
// [runtime.Slice] of T for a []T. For a struct that has slices it is any struct with the same names
// of fields in the same order, a runtime.Slice of T for each []T. Those of type dsl.ConstInt and
// dsl.ConstBool choose a specialisation of the kernel. Launch returns when the work is queued; what
// goes wrong in the kernel is the error of the buffers that it writes, see [runtime.Stream.Launch].
func (k *Kernel) Launch(s *runtime.Stream, g runtime.Grid, args ...any) error {
	if s == nil {
		return fmt.Errorf("%s: launch on a nil stream", k.name)
	}
	in, err := k.specialised(s.Device(), args)
	if err != nil {
		return err
	}
	if want := k.fn.NumIn() - 1; len(args) != want {
		return fmt.Errorf("%s: launch with %d arguments, the kernel has %d: %s", k.name, len(args), want, in.signature())
	}
	if err := in.checkGrid(g); err != nil {
		return fmt.Errorf("%s: %w", k.name, err)
	}
	if in.size <= smallBlock && len(in.watched.slices) <= smallUses {
		var block [smallBlock]byte
		var uses [smallUses]runtime.Use
		err = k.submit(s, in, g, block[:in.size], uses[:0], args)
	} else {
		err = k.submitLarge(s, in, g, args)
	}
	goruntime.KeepAlive(args) // the block holds addresses, the arguments the buffers
	if err != nil {
		return fmt.Errorf("%s: %w", k.name, err)
	}
	return nil
}

// Writes reports for each argument of a launch on dev whether it is a slice that the kernel writes
// to, or a struct that holds one.
func (k *Kernel) Writes(dev *runtime.Device, args ...any) ([]bool, error) {
	in, err := k.specialised(dev, args)
	if err != nil {
		return nil, err
	}
	list := make([]bool, len(args))
	for i := range in.plan {
		if p := &in.plan[i]; p.Slice && p.Written {
			list[p.arg] = true
		}
	}
	return list, nil
}

// submit writes the argument block and launches the variant of the kernel that
// suits it.
func (k *Kernel) submit(s *runtime.Stream, in *instance, g runtime.Grid, block []byte, uses []runtime.Use, args []any) error {
	uses, err := in.pack(block, uses, args)
	if err != nil {
		return err
	}
	fn, err := k.variant(in, in.watched.properties(in.assumed, g, block))
	if err != nil {
		return err
	}
	shared := 0
	if l := in.meta.Length; l != nil {
		if shared, err = l.Bytes(block); err != nil {
			return fmt.Errorf("%w; a block of %s can have %d bytes", err, in.dev.Name(), in.dev.Info().SharedPerBlock)
		}
	}
	return s.LaunchUsing(fn, g, shared, block, uses)
}

// submitLarge is submit with a block that the stack has no room for.
func (k *Kernel) submitLarge(s *runtime.Stream, in *instance, g runtime.Grid, args []any) error {
	if in.size > maxPooled {
		return k.submit(s, in, g, make([]byte, in.size), nil, args)
	}
	l := largeBlocks.Get().(*largeBlock)
	defer func() {
		clear(l.uses[:]) // it would keep the buffers
		largeBlocks.Put(l)
	}()
	return k.submit(s, in, g, l.block[:in.size], l.uses[:0], args)
}

func (in *instance) checkGrid(g runtime.Grid) error {
	threads := g.Threads.Count()
	if most := in.fn.MaxThreads(); threads <= 0 || threads > most {
		return fmt.Errorf("block of %d threads: %s runs 1 to %d of this kernel", threads, in.dev.Name(), most)
	}
	if want := in.meta.Threads; want > 0 && threads != want {
		return fmt.Errorf("block of %d threads: the kernel is for blocks of %d, as its call of dsl.LaunchBounds says", threads, want)
	}
	if n := in.meta.Cluster; n > 0 && g.Blocks.X%n != 0 {
		return fmt.Errorf("%d blocks along x: the kernel is for clusters of %d, as its call of dsl.Cluster says: launch a multiple", g.Blocks.X, n)
	}
	if in.meta.Warp && threads%in.dev.WarpSize() != 0 {
		return fmt.Errorf("block of %d threads: the kernel uses warp operations, so the block must be a multiple of %d threads here; a multiple of 64 runs on every device", threads, in.dev.WarpSize())
	}
	if row := in.meta.Row; row > 0 && g.Threads.X%row != 0 {
		return fmt.Errorf("block of %d threads along x and %d in all: its size along x must be a multiple of the warp size, %d here, because the kernel comes to a warp operation by a condition on t.ThreadX() or another index; launch such blocks, or let the condition be on t.Warp()", g.Threads.X, threads, row)
	}
	return nil
}

func (in *instance) signature() string {
	var list []string
	for i := range in.plan {
		if p := &in.plan[i]; i == 0 || in.plan[i-1].arg != p.arg {
			list = append(list, p.whole()+" "+launchType(p.goType))
		}
	}
	return "(" + strings.Join(list, ", ") + ")"
}

// pack checks the arguments, writes the argument block, and appends the memory that it
// points to to uses.
func (in *instance) pack(block []byte, uses []runtime.Use, args []any) ([]runtime.Use, error) {
	for i := range in.plan {
		p := &in.plan[i]
		if p.Const {
			continue // it chose the code
		}
		a := (*iface)(unsafe.Pointer(&args[p.arg]))
		if a.typ != p.typ.Load() || a.typ == 0 {
			if err := p.accept(reflect.TypeOf(args[p.arg]), a.typ); err != nil {
				return uses, err
			}
		}
		from := unsafe.Add(a.data, p.from)
		if !p.Slice {
			copy(block[p.Offset:p.Offset+p.Size], unsafe.Slice((*byte)(from), p.Size))
			continue
		}
		h := (*runtime.SliceHeader)(from)
		addr, err := in.address(h, p)
		if err != nil {
			return uses, fmt.Errorf("argument %d (%s): %w", p.arg+1, p.Name, err)
		}
		*(*uint64)(unsafe.Pointer(&block[p.Offset])) = addr
		*(*uint64)(unsafe.Pointer(&block[p.Offset+8])) = uint64(h.Len)
		if addr != 0 {
			uses = append(uses, runtime.Use{Buf: h.Buf, Access: p.access})
		}
	}
	return uses, nil
}

// accept checks the type of the argument the slow way and remembers it.
func (p *param) accept(t reflect.Type, word uintptr) error {
	if !accepts(p.goType, t) {
		have := "nil"
		if t != nil {
			have = t.String()
		}
		return fmt.Errorf("argument %d (%s) is %s, want %s", p.arg+1, p.whole(), have, launchType(p.goType))
	}
	p.typ.Store(word)
	return nil
}

// whole is the name of the kernel's parameter that p is, or is a field of.
func (p *param) whole() string {
	if !holdsSlices(p.goType) {
		return p.Name
	}
	name, _, _ := strings.Cut(p.Name, ".")
	return name
}

func (in *instance) address(h *runtime.SliceHeader, p *param) (uint64, error) {
	if h.Len == 0 {
		return 0, nil
	}
	switch {
	case h.Buf == nil:
		return 0, fmt.Errorf("slice without a buffer")
	case h.Buf.Freed():
		return 0, fmt.Errorf("buffer was freed: %w", runtime.ErrFreed)
	case h.Buf.Device() != in.dev:
		return 0, fmt.Errorf("buffer is on %s, the stream on %s: copy it over first", h.Buf.Device().Name(), in.dev.Name())
	}
	return h.Buf.Addr() + uint64(h.Off*p.Size), nil
}
