package launch

import (
	"cmp"
	"os"
	"strconv"
	"testing"

	"github.com/gokiln/kiln/bench/kernels"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

func open(b *testing.B) *runtime.Device {
	dev, err := runtime.Open(cmp.Or(os.Getenv("KILN_BENCH_DEVICE"), "auto"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { dev.Close() })
	return dev
}

func BenchmarkLaunch(b *testing.B) {
	dev := open(b)
	x, err := runtime.Alloc[float32](dev, 32)
	if err != nil {
		b.Fatal(err)
	}
	y, err := runtime.Alloc[float32](dev, 32)
	if err != nil {
		b.Fatal(err)
	}
	k, s, g := jit.Of(kernels.Saxpy), dev.DefaultStream(), runtime.Blocks(1, 32)
	for _, way := range []struct {
		name   string
		launch func() error
	}{
		{"handle", func() error { return k.Launch(s, g, y, x, float32(2)) }},
		{"launcher", func() error { return kernels.LaunchSaxpy(s, g, y, x, 2) }}, // by kiln gen
	} {
		b.Run(way.name, func(b *testing.B) { launches(b, s, way.launch) })
	}
}

func launches(b *testing.B, s *runtime.Stream, launch func() error) {
	if err := launch(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := launch(); err != nil {
			b.Fatal(err)
		}
		if i%256 == 255 { // a full queue would make launches wait
			b.StopTimer()
			if err := s.Sync(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
}

func BenchmarkLaunchAndWait(b *testing.B) {
	dev := open(b)
	x, err := runtime.Alloc[float32](dev, 32)
	if err != nil {
		b.Fatal(err)
	}
	k, s := jit.Of(kernels.Saxpy), dev.DefaultStream()
	for _, blocks := range []int{1, 16, 256, 4096, 65536} {
		b.Run(strconv.Itoa(blocks), func(b *testing.B) {
			g := runtime.Blocks(blocks, 32)
			b.ReportAllocs()
			for b.Loop() {
				if err := k.Launch(s, g, x, x, float32(2)); err != nil {
					b.Fatal(err)
				}
				if err := s.Sync(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
