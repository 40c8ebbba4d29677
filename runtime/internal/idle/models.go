package idle

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// model is a row of the table: devices of a target, with the numbers of units that are usual.
type model struct {
	target string
	info   driver.Info
	units  []int
}

// nvidia is a model of compute capability cc. Sizes are in KiB (CUDA programming guide, compute
// capabilities).
func nvidia(cc, threads, shared, l2 int, units ...int) model {
	return model{target: fmt.Sprintf("ptx:sm_%d", cc), units: units, info: driver.Info{
		Kind: "cuda", Vendor: "NVIDIA", Arch: fmt.Sprintf("sm_%d", cc), Formats: []string{"cubin", "ptx"},
		WarpSize: 32, MaxGrid: [3]int{1<<31 - 1, 65535, 65535}, SharedPerBlock: shared << 10, ThreadsPerUnit: threads,
		RegistersPerUnit: 64 << 10, L2: l2 << 10, ComputeMajor: cc / 10, ComputeMinor: cc % 10,
		MemoryPool: true, Cooperative: true, GridBarriers: true,
	}}
}

// amd is a model of an architecture.
func amd(arch string, wave, l2 int, units ...int) model {
	return model{target: "hip:" + arch, units: units, info: driver.Info{
		Kind: "rocm", Vendor: "AMD", Arch: arch, Formats: []string{"hsaco", "hip"}, WarpSize: wave,
		MaxGrid: [3]int{1<<31 - 1, 65535, 65535}, SharedPerBlock: 64 << 10, ThreadsPerUnit: 2048,
		RegistersPerUnit: 128 << 10, L2: l2 << 10, MemoryPool: true, GridBarriers: true,
	}}
}

// apple is a model with a version of Metal's language.
func apple(version string) model {
	return model{target: "msl:" + version, units: []int{10, 32}, info: driver.Info{
		Kind: "metal", Vendor: "Apple", Arch: version, Formats: []string{"mtlarchive", "metallib", "msl"}, WarpSize: 32,
		MaxGrid: [3]int{1<<31 - 1, 65535, 65535}, SharedPerBlock: 32 << 10, ThreadsPerUnit: 2048,
	}}
}

// processor is a CPU with machine code of a level, or "" for the interpreter.
func processor(target, arch string, warp int, units ...int) model {
	m := model{target: target, units: units, info: driver.Info{
		Kind: "cpu", Vendor: "CPU", Arch: arch, Formats: []string{"x86", "kir"}, WarpSize: warp,
		MaxGrid: [3]int{1<<31 - 1, 65535, 65535}, SharedPerBlock: 227 << 10, ThreadsPerUnit: warp, GridBarriers: true,
	}}
	if arch == "" {
		m.info.Arch, m.info.Formats, m.info.ThreadsPerUnit = runtime.GOARCH, []string{"kir"}, 1024
	}
	return m
}

// cores are numbers of those that a processor often has for a program.
var cores = []int{2, 4, 8, 16, 32, 64}

// table has models that are in use; of each target the smallest and the largest that are likely to
// have language models.
var table = []model{
	nvidia(70, 2048, 96, 6<<10, 80),
	nvidia(72, 2048, 96, 512, 8),
	nvidia(75, 1024, 64, 4<<10, 40, 68),
	nvidia(80, 2048, 163, 40<<10, 108),
	nvidia(86, 1536, 99, 6<<10, 28, 84),
	nvidia(87, 1536, 163, 4<<10, 16),
	nvidia(89, 1536, 99, 48<<10, 24, 58, 142),
	nvidia(90, 2048, 227, 50<<10, 114, 132),
	nvidia(100, 2048, 227, 126<<10, 148),
	nvidia(103, 2048, 227, 126<<10, 148),
	nvidia(110, 1536, 227, 32<<10, 20),
	nvidia(120, 1536, 99, 96<<10, 36, 170),
	nvidia(121, 1536, 99, 24<<10, 48),

	amd("gfx900", 64, 4<<10, 64), amd("gfx906", 64, 4<<10, 60), amd("gfx908", 64, 8<<10, 120),
	amd("gfx90a", 64, 8<<10, 104, 110), amd("gfx942", 64, 4<<10, 228, 304), amd("gfx950", 64, 4<<10, 256),
	amd("gfx1010", 32, 4<<10, 20), amd("gfx1030", 32, 4<<10, 30, 40), amd("gfx1031", 32, 3<<10, 20),
	amd("gfx1032", 32, 2<<10, 16), amd("gfx1100", 32, 6<<10, 42, 48), amd("gfx1101", 32, 4<<10, 30),
	amd("gfx1102", 32, 2<<10, 16), amd("gfx1103", 32, 2<<10, 6), amd("gfx1150", 32, 2<<10, 8),
	amd("gfx1151", 32, 2<<10, 20), amd("gfx1200", 32, 4<<10, 16), amd("gfx1201", 32, 8<<10, 32),

	apple("2.4"), apple("3.0"), apple("3.1"), apple("3.2"),

	processor("cpu", "", 32, cores...), processor("cpu:x86-64-v3", "x86-64-v3", 8, cores...),
	processor("cpu:x86-64-v4", "x86-64-v4", 16, cores...), packed(processor("cpu:x86-64-v4", "x86-64-v4", 16, cores...)),
}

// packed is a processor with instructions for dsl.PackedMMA.
func packed(m model) model {
	m.info.PackedMMA = true
	return m
}

// name is that of the model with so many units, such as "ptx:sm_90/132".
func (m *model) name(units int) string {
	name := fmt.Sprintf("%s/%d", m.target, units)
	if m.info.PackedMMA {
		name += "+packed"
	}
	return name
}

// with is the model with so many units.
func (m *model) with(units int) driver.Info {
	info := m.info
	info.Name, info.Units = Kind+":"+m.name(units), units
	info.Model, info.Driver = info.Name, "kiln, which runs nothing"
	info.MaxThreads, info.MaxBlock = 1024, [3]int{1024, 1024, 64}
	info.MemTotal = memory
	return info
}

// Names are those of the devices that stand for models of a target, none if no model is known: with
// some numbers of units, or those that are usual. NVIDIA's targets with a letter are for devices of
// the one without.
func Names(target string, units ...int) (list []string) {
	if strings.HasPrefix(target, "ptx:") {
		target = strings.TrimRight(target, "af")
	}
	for _, m := range table {
		if m.target != target {
			continue
		}
		of := units
		if len(of) == 0 {
			of = m.units
		}
		for _, n := range of {
			list = append(list, Kind+":"+m.name(n))
		}
	}
	return list
}

// memory is what each device has, more than any model takes.
const memory = 1 << 44
