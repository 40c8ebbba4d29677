package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gokiln/kiln/bench/figure"
	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/target"

	_ "github.com/gokiln/kiln/bench/throughput/kernels"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "throughput:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	cpus := flag.Int("cpu", 2, "processors to use")
	rounds := flag.Int("rounds", 1, "how often to compile everything; the line is of the fastest round")
	stage := flag.String("stage", "ptx", "where to stop: ir (the front end) or ptx")
	cpuProfile := flag.String("cpuprofile", "", "write a processor profile to this file")
	memProfile := flag.String("memprofile", "", "write an allocation profile to this file")
	flag.Parse()
	if *stage != "ir" && *stage != "ptx" {
		return fmt.Errorf("-stage %s: the stages are ir and ptx", *stage)
	}
	runtime.GOMAXPROCS(*cpus)
	if *memProfile != "" {
		runtime.MemProfileRate = 4096
	}
	if *cpuProfile != "" {
		f, err := os.Create(*cpuProfile)
		if err != nil {
			return err // names the file
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return fmt.Errorf("profiling to %s: %w", *cpuProfile, err)
		}
		defer pprof.StopCPUProfile()
	}
	best, err := measure(*rounds, *cpus, *stage)
	if err != nil {
		return err
	}
	fmt.Println(best)
	return writeAllocs(*memProfile)
}

func writeAllocs(name string) error {
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return err // names the file
	}
	return errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
}

// sample is what a round took.
type sample struct {
	kernels, cpus  int
	wall, cpu      time.Duration
	bytes, objects uint64
}

func (s sample) String() string {
	n := float64(s.kernels)
	return fmt.Sprintf("%d kernels on %d processors: %.3f s, %.3f s of processor time; %.0f kernels/s, %.3f ms, %.0f KiB and %.0f objects a kernel",
		s.kernels, s.cpus, s.wall.Seconds(), s.cpu.Seconds(), n/s.wall.Seconds(), s.wall.Seconds()*1e3/n, float64(s.bytes)/1024/n, float64(s.objects)/n)
}

// measure returns the fastest of the rounds.
func measure(rounds, cpus int, stage string) (best sample, err error) {
	tgt, err := target.Parse("ptx:sm_90")
	if err != nil {
		return best, err
	}
	list := requests()
	for i := range rounds {
		s, err := round(list, cpus, func(req front.Request) error { return compile(req, tgt, stage) })
		if err != nil {
			return best, err
		}
		if i == 0 || s.wall < best.wall {
			best = s
		}
	}
	return best, nil
}

// round compiles the list on so many goroutines.
func round(list []front.Request, cpus int, compile func(front.Request) error) (sample, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, start := figure.ProcessorTime(), time.Now()
	var next atomic.Int64
	var group errgroup.Group
	for range cpus {
		group.Go(func() error {
			for i := next.Add(1) - 1; i < int64(len(list)); i = next.Add(1) - 1 {
				if err := compile(list[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	s := sample{kernels: len(list), cpus: cpus, wall: time.Since(start), cpu: figure.ProcessorTime() - cpu}
	runtime.ReadMemStats(&after)
	s.bytes, s.objects = after.TotalAlloc-before.TotalAlloc, after.Mallocs-before.Mallocs
	return s, err
}

// compile does what the JIT does for a kernel that no cache knows.
func compile(req front.Request, tgt target.Target, stage string) error {
	p, err := compiler.Front(req, compiler.Registered)
	if err != nil || stage == "ir" {
		return err
	}
	_, err = p.Emit(tgt, compiler.Options{})
	return err
}
