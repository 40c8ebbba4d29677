package harness

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance"
	"github.com/gokiln/kiln/tests/through"
)

// Kernel is a kernel to run.
type Kernel struct {
	Seed            uint64
	Name            string
	Func            any
	Blocks, Threads dsl.Dim3
	Lens            []int // of each parameter after the Thread, 0 for a scalar
}

// options come from the command line.
type options struct {
	device  string
	through string
	record  string
	only    string
	from    int
	count   int
	workers int
	passes  string
	limit   time.Duration
	verbose bool
}

// Main runs the kernels as the flags say and ends the process: status 0 if all
// agree, 1 if one does not, 2 if nothing could be run.
func Main(kernels []Kernel) {
	var o options
	device := os.Getenv("KILN_FUZZ_DEVICE")
	if device == "" {
		device = "cpu"
	}
	flag.StringVar(&o.device, "device", device, "device to run on, as runtime.Open takes it; also KILN_FUZZ_DEVICE")
	flag.StringVar(&o.through, "through", "", "another way to run kernels: "+waysText)
	flag.StringVar(&o.record, "record", "", "with -device cpu:interp: file to write the PTX to that LLVM makes of the kernels for sm_90, for -through llvm")
	flag.StringVar(&o.only, "only", "", "seeds to run, with commas between; all if empty")
	flag.IntVar(&o.from, "from", 0, "number of kernels to pass over")
	flag.IntVar(&o.count, "count", len(kernels), "number of kernels to run")
	flag.IntVar(&o.workers, "j", 2, "kernels at a time")
	flag.StringVar(&o.passes, "passes", "none", "run in the interpreter as a checked build and with passes turned off, and emit PTX, too: none; one (another pass for each kernel); each (all in turn)")
	flag.DurationVar(&o.limit, "for", 0, "time after which no more kernels are started; no limit if 0")
	flag.BoolVar(&o.verbose, "v", false, "print the name of each kernel")
	flag.Parse()
	os.Setenv("KILN_JIT", "off") // read at the first launch: thousands of kernels have no place in a cache
	os.Setenv("KILN_STRICT", "1")
	failed, err := run(kernels, o, os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "kilnfuzz:", err)
		os.Exit(2)
	case failed:
		os.Exit(1)
	}
}

// run reports each failure in a line and a summary in the last.
func run(kernels []Kernel, o options, w io.Writer) (failed bool, err error) {
	kernels, err = choose(kernels, o)
	if err != nil {
		return false, err
	}
	if o.passes != "none" && o.passes != "one" && o.passes != "each" {
		return false, fmt.Errorf("-passes %s: want none, one or each", o.passes)
	}
	s := &session{options: o, w: w, start: time.Now()}
	done, err := s.open()
	if err != nil {
		return false, err
	}
	defer done()
	s.all(kernels)
	if n := s.over.Load(); n > 0 {
		fmt.Fprintf(w, "%d kernels passed over: their blocks are no whole warps of %d threads\n", n, s.width)
	}
	for why, n := range s.lacking {
		fmt.Fprintf(w, "%d kernels passed over: %s\n", n, why)
	}
	s.reportNative(w)
	fmt.Fprintf(w, "%d kernels on %s, %d failed, %v\n", s.ran.Load(), s.where, s.failed.Load(), time.Since(s.start).Round(time.Millisecond))
	return s.failed.Load() > 0, s.finish()
}

func choose(kernels []Kernel, o options) ([]Kernel, error) {
	if o.only == "" {
		kernels = kernels[min(max(o.from, 0), len(kernels)):]
		return kernels[:min(max(o.count, 0), len(kernels))], nil
	}
	var list []Kernel
	for _, text := range strings.Split(o.only, ",") {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("-only %s: want seeds with commas between: %w", o.only, err)
		}
		n := len(list)
		for _, k := range kernels {
			if k.Seed == seed {
				list = append(list, k)
			}
		}
		if len(list) == n {
			return nil, fmt.Errorf("-only %s: the program has no kernel of seed %d; generate one with -seed %d -n 1", o.only, seed, seed)
		}
	}
	return list, nil
}

// session is one run over many kernels.
type session struct {
	options
	dev    *runtime.Device // nil where route is not
	native native
	route  *route
	rec    *through.Recorder
	where  string
	width  int // threads of a warp
	start  time.Time
	ran    atomic.Int64
	over   atomic.Int64 // passed over: their blocks are no whole warps here
	failed atomic.Int64
	row    atomic.Int64 // failures one after the other
	mu     sync.Mutex
	w      io.Writer

	lacking map[string]int // kernels that a route cannot have, by reason
}

// all runs the kernels on several goroutines. After many failures without a
// success it stops: a fault of one kernel can leave a GPU unusable for the rest.
func (s *session) all(kernels []Kernel) {
	next := make(chan []Kernel)
	var wg sync.WaitGroup
	for range max(s.workers, 1) {
		wg.Go(func() {
			for list := range next {
				s.some(list)
			}
		})
	}
	size := 1
	if s.route != nil {
		size = s.route.batch
	}
	for list := range slices.Chunk(kernels, size) {
		if s.limit > 0 && time.Since(s.start) > s.limit {
			break
		}
		if s.row.Load() >= 20 {
			s.print("20 failures in a row: stopped")
			break
		}
		next <- list
	}
	close(next)
	wg.Wait()
}

func (s *session) print(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.w, format+"\n", args...)
}

// generatedFor is the warp whose multiples generated kernels have as blocks.
const generatedFor = 32

// fits says whether a kernel that is made for whole warps gets them on the device.
func (s *session) fits(k Kernel) bool {
	n := k.Threads.X * k.Threads.Y * k.Threads.Z
	return n%generatedFor != 0 || n%s.width == 0
}

// some runs kernels that are compiled together, where that is so.
func (s *session) some(list []Kernel) {
	list = slices.DeleteFunc(slices.Clone(list), func(k Kernel) bool {
		if !s.fits(k) {
			s.over.Add(1)
		}
		return !s.fits(k)
	})
	check := s.check
	if s.route != nil {
		var err error
		if list, check, err = s.routed(list); err != nil {
			s.ran.Add(int64(len(list)))
			s.fail("", err)
			return
		}
	}
	for _, k := range list {
		if s.verbose {
			s.print("run  seed=%d kernel=%s", k.Seed, k.Name)
		}
		err := check(k)
		if errors.Is(err, target.ErrUnsupported) {
			s.lack(err) // what it uses is in no kernel for the device
			continue
		}
		s.ran.Add(1)
		if err == nil {
			s.row.Store(0)
			continue
		}
		s.fail(fmt.Sprintf(" seed=%d kernel=%s", k.Seed, k.Name), err)
	}
}

func (s *session) fail(which string, err error) {
	s.failed.Add(1)
	s.row.Add(1)
	s.print("FAIL%s: %v", which, err)
}

func (k Kernel) launch() conformance.Case {
	return conformance.Case{Name: k.Name, Kernel: k.Func, Grid: k.Blocks, Threads: k.Threads, Args: inputs(k)}
}

func (s *session) check(k Kernel) error {
	c := k.launch()
	if err := conformance.Check(s.dev, c); err != nil {
		return err
	}
	if err := s.against(k); err != nil {
		return err
	}
	if s.passes == "none" {
		return nil
	}
	prog, err := translate(k)
	if err != nil {
		return err
	}
	gpu, err := target.Parse("ptx:sm_90")
	if err != nil {
		return err
	}
	want, err := prog.run(target.CPU, compiler.Options{}, c)
	if err != nil {
		return fmt.Errorf("in the interpreter: %w", err)
	}
	got, err := prog.run(target.CPU, compiler.Options{Checked: true}, c) // which reports races, too: generated kernels have none
	if err == nil {
		err = want.compare(got)
	}
	if err != nil {
		return fmt.Errorf("as a checked build: %w", err)
	}
	got, err = prog.run(gpu, compiler.Options{Assume: properties(gpu, c.Args)}, c)
	if err == nil {
		err = want.compare(got)
	}
	if err != nil {
		return fmt.Errorf("optimised for %s: %w", gpu, err)
	}
	names := optional
	if s.passes == "one" {
		names = optional[k.Seed%uint64(len(optional)):][:1]
	}
	errs := []error{prog.emit(gpu)}
	for _, name := range names {
		got, err := prog.run(target.CPU, compiler.Options{Disable: []string{name}}, c)
		if err == nil {
			err = want.compare(got)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("without pass %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// properties returns what a launch with the arguments keeps to, of what code for t is
// better for knowing.
func properties(t target.Target, args []any) compiler.Assume {
	a := compiler.Assumes(t)
	for _, arg := range args {
		if n, ok := arg.(int); ok && (n >= ir.SmallLen || n <= -ir.SmallLen) {
			a &^= compiler.Small
		}
	}
	return a
}

// inputs draws the arguments of a kernel from its seed.
func inputs(k Kernel) []any {
	r := rand.New(rand.NewPCG(k.Seed, 0x64617461))
	fn := reflect.TypeOf(k.Func)
	args := make([]any, len(k.Lens))
	for i, n := range k.Lens {
		t := fn.In(i + 1)
		if t.Kind() != reflect.Slice {
			v := reflect.New(t).Elem()
			Draw(r, v)
			args[i] = v.Interface()
			continue
		}
		s := reflect.MakeSlice(t, n, n)
		for j := range n {
			Draw(r, s.Index(j))
		}
		args[i] = s.Interface()
	}
	return args
}

var specialFloats = []float64{
	0, math.Copysign(0, -1), 1, -1, 0.5, 2.5, -3.5, math.Inf(1), math.Inf(-1), math.NaN(), math.SmallestNonzeroFloat32, -1e-310,
	math.MaxFloat32, -math.MaxFloat64, 8388607.5, 4503599627370495.5, 2147483648, -9223372036854775808, 255.75, 65520,
}

// Draw sets v to a value of any magnitude, often one at an edge.
func Draw(r *rand.Rand, v reflect.Value) {
	switch {
	case v.Kind() == reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case v.CanFloat() && r.IntN(4) == 0:
		v.SetFloat(specialFloats[r.IntN(len(specialFloats))])
	case v.CanFloat():
		v.SetFloat((r.Float64()*2 - 1) * math.Pow(10, r.Float64()*12-6))
	case v.CanInt():
		v.SetInt(int64(word(r)<<(64-v.Type().Bits())) >> (64 - v.Type().Bits()))
	default:
		v.SetUint(word(r) << (64 - v.Type().Bits()) >> (64 - v.Type().Bits()))
	}
}

func word(r *rand.Rand) uint64 {
	switch r.IntN(4) {
	case 0:
		return 1<<r.IntN(65) - uint64(r.IntN(2))
	case 1:
		return uint64(r.IntN(40)) - 10
	}
	return uint64(int64(r.Uint64()) >> r.IntN(64))
}
