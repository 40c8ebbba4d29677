package prebuild

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/cache/bundle"
	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/jit/artifact"
	"github.com/gokiln/kiln/jit/record"
)

// Job says what to compile.
type Job struct {
	Load    front.Loader
	Specs   []record.Spec
	Choices []record.Choice // of tuners, for the devices that they name
	Targets []target.Target // of all specialisations; without any, each is for those it was used for
	Tools   []*Assembler    // see [Assemblers]
	Workers int             // how many at the same time; 0 stands for the number of cores

	// Recorded leaves out the code that takes every launch where a specialisation was recorded in
	// other variants: launches that were not recorded are compiled when they come.
	Recorded bool

	// Notes are what Run has to say besides errors: targets that a tool does not know.
	Notes []string

	// Progress is called, one call at a time, when a piece of the work is done.
	Progress func(done, all int, what string)
}

// Refused is an error about one specialisation for one target: the rest of the job is
// not in vain.
type Refused struct {
	Spec   record.Spec
	Target target.Target
	Err    error
}

func (e *Refused) Error() string {
	if e.Target.Kind == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("for %s: %v", e.Target, e.Err)
}

func (e *Refused) Unwrap() error { return e.Err }

// piece is one specialisation for one target.
type piece struct {
	spec  int
	tgt   target.Target
	build compiler.Options
}

// run is a job that runs.
type run struct {
	*Job
	w        bundle.Writer
	mu       sync.Mutex // of w, errs and Progress
	errs     []error
	done     atomic.Int64
	all      int
	programs []program
	known    artifact.Sources
}

// program is a specialisation that is compiled to IR once.
type program struct {
	once sync.Once
	p    *compiler.Program
	err  error
}

// Run compiles. Errors about kernels are joined, each a [Refused], beside what could be
// compiled.
func (j *Job) Run(ctx context.Context) (*bundle.Writer, error) {
	pieces, err := j.pieces()
	if err != nil {
		return nil, err
	}
	r := &run{Job: j, all: len(pieces), programs: make([]program, len(j.Specs))}
	r.w.Compiler = compiler.Version
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(j.workers())
	for _, p := range pieces {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return r.piece(ctx, p)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if err := r.choices(); err != nil {
		return nil, err
	}
	slices.SortFunc(r.errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return &r.w, errors.Join(slices.CompactFunc(r.errs, func(a, b error) bool { return a.Error() == b.Error() })...)
}

// choices adds what tuners chose: for the devices where they measured, and once for each target,
// for other devices of that, where nothing may be measured.
func (r *run) choices() error {
	seen := map[cache.Key]bool{}
	for _, c := range r.Choices {
		any := c
		any.Device = ""
		for _, c := range []record.Choice{c, any} {
			key := artifact.TunedKey(c)
			if seen[key] {
				continue // of several devices of a target the first speaks for all
			}
			seen[key] = true
			if err := r.add(key, artifact.TunedEntry(c)); err != nil {
				return err
			}
		}
	}
	return nil
}

// workers is how many pieces are compiled at the same time.
func (j *Job) workers() int {
	if j.Workers > 0 {
		return j.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// Wants lists the targets that something is to be built for.
func (j *Job) Wants() ([]target.Target, error) {
	pieces, err := j.pieces()
	var list []target.Target
	for _, p := range pieces {
		if !slices.Contains(list, p.tgt) {
			list = append(list, p.tgt)
		}
	}
	return list, err
}

// pieces divides the job.
func (j *Job) pieces() (list []piece, err error) {
	for i, s := range j.Specs {
		targets := j.Targets
		if len(targets) == 0 {
			for _, name := range s.Targets {
				t, err := target.Parse(name)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", s.Kernel, err)
				}
				targets = append(targets, t)
			}
			if len(targets) == 0 {
				return nil, fmt.Errorf("%s: no target is asked for, and the record names none", s.Kernel)
			}
		}
		for _, t := range targets {
			builds, err := j.builds(&s, t)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.Kernel, err)
			}
			for _, b := range builds {
				list = append(list, piece{i, t, b})
			}
		}
	}
	return list, nil
}

// builds returns the options for the variants of code that a specialisation was used in
// on targets of this kind, and, but for j.Recorded, for the one that takes every launch. If it
// was not, there is one for launches that have all properties that the target's code is
// better for.
func (j *Job) builds(s *record.Spec, t target.Target) ([]compiler.Options, error) {
	names := s.Builds
	if !slices.ContainsFunc(s.Targets, func(used string) bool { return strings.HasPrefix(used, t.Kind+":") }) && len(s.Targets) > 0 {
		names = nil
	}
	var list []compiler.Options
	add := func(o compiler.Options) {
		o.Assume &= compiler.Assumes(t) // other targets have other variants
		if !slices.ContainsFunc(list, func(have compiler.Options) bool { return have.Key() == o.Key() }) {
			list = append(list, o)
		}
	}
	if len(names) == 0 {
		add(compiler.Options{Assume: compiler.Assumes(t)})
	}
	for _, name := range names {
		o, err := compiler.ParseBuild(name)
		if err != nil {
			return nil, err
		}
		add(o)
		if !j.Recorded {
			o.Assume = 0
			add(o)
		}
	}
	if len(names) == 0 {
		add(compiler.Options{})
	}
	return list, nil
}

// piece compiles a piece.
func (r *run) piece(ctx context.Context, p piece) error {
	spec := r.Specs[p.spec]
	err := r.compile(ctx, p)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		refused := &Refused{Spec: spec, Target: p.tgt, Err: err}
		if r.programs[p.spec].err != nil {
			refused.Target = target.Target{} // it is refused for all
		}
		r.errs = append(r.errs, refused)
	}
	if done := r.done.Add(1); r.Progress != nil {
		r.Progress(int(done), r.all, plain(spec.Kernel)+" for "+p.tgt.String())
	}
	return nil
}

// plain is the last element of an import path, a dot and a name.
func plain(kernel string) string { return kernel[strings.LastIndexByte(kernel, '/')+1:] }

func (r *run) compile(ctx context.Context, p piece) error {
	prog, err := r.program(p.spec)
	if err != nil {
		return err
	}
	art, err := prog.Emit(p.tgt, p.build)
	if err != nil {
		return err
	}
	key := artifact.CodeKey(prog.Hash, p.tgt, p.build)
	e, err := artifact.Entry(cache.KindArtifact, art, p.build, artifact.Tool)
	if err != nil {
		return err
	}
	if err := r.add(key, e); err != nil {
		return err
	}
	for _, tool := range r.Tools {
		if tool.format != art.Format {
			continue
		}
		e, err := tool.entry(ctx, art, p.tgt, p.build)
		if errors.Is(err, errUnknown) {
			r.note(fmt.Sprintf("no machine code for %s, drivers will compile the text: %v", p.tgt, err))
			continue
		}
		if err != nil {
			return err
		}
		if err := r.add(artifact.MachineKey(key, artifact.Assembled), e); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i, have := slices.BinarySearch(r.Notes, text); !have {
		r.Notes = slices.Insert(r.Notes, i, text)
	}
}

// program compiles a specialisation to IR, once for all targets.
func (r *run) program(i int) (*compiler.Program, error) {
	p := &r.programs[i]
	p.once.Do(func() { p.p, p.err = r.front(r.Specs[i]) })
	return p.p, p.err
}

func (r *run) front(s record.Spec) (*compiler.Program, error) {
	req, err := s.Request()
	if err != nil {
		return nil, err
	}
	key, err := r.known.Key(req, artifact.Specialisation(req), r.Load, "")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Kernel, err)
	}
	prog, err := compiler.Front(req, r.Load)
	if err != nil {
		return nil, err
	}
	src := artifact.Source{IR: prog.Hash, Positions: prog.Positions}
	e, err := src.Entry(prog.Kernel, record.Of(req).String())
	if err != nil {
		return nil, err
	}
	return prog, r.add(key, e)
}

func (r *run) add(key cache.Key, e *cache.Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.w.Add(key, e)
}
