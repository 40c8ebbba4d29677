package main

import (
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// edges builds examples/edges, runs it with the interpreter and with machine code,
// on its own picture and on one of 12 megapixels, beside which fixed costs are small,
// and prints the least times of its steps. The first run fills the cache, as for any
// program that is started again.
func edges(w io.Writer, c config, dir string) error {
	binary := filepath.Join(dir, "edges")
	build := exec.Command("go", "build", "-o", binary, "github.com/gokiln/kiln/examples/edges")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building examples/edges: %w\n%s", err, text)
	}
	large := filepath.Join(dir, "large.png")
	if err := writePicture(large, 4000, 3000); err != nil {
		return fmt.Errorf("picture for examples/edges: %w", err)
	}
	for _, p := range []struct {
		name, file string
		runs       int
	}{{"its own picture", "", 8}, {"12 megapixels", large, 4}} {
		times := map[string]edgesTimes{}
		for _, device := range []string{"cpu:interp", c.device()} {
			t, err := timeEdges(binary, device, p.file, dir, p.runs)
			if err != nil {
				return err
			}
			times[device] = t
		}
		fmt.Fprintf(w, "\nexamples/edges, %s, ms on the interpreter and as machine code:\n", p.name)
		times[c.device()].print(w, times["cpu:interp"])
	}
	return nil
}

// edgesTimes are the least times of the steps of examples/edges, and their order.
type edgesTimes struct {
	ms    map[string]float64
	order []string
}

// timeEdges runs examples/edges some times.
func timeEdges(binary, device, picture, dir string, runs int) (edgesTimes, error) {
	t := edgesTimes{ms: map[string]float64{}}
	for range runs {
		cmd := exec.Command(binary, "-device", device, "-in", picture, "-json", "-out", filepath.Join(dir, "edges.png"))
		cmd.Env = append(os.Environ(), "KILN_CACHE_DIR="+filepath.Join(dir, "cache"), "KILN_JIT=auto")
		text, err := cmd.Output()
		if err != nil {
			return t, fmt.Errorf("examples/edges on %s: %w", device, err)
		}
		var report struct {
			Steps []struct {
				Name string  `json:"name"`
				MS   float64 `json:"ms"`
			}
		}
		if err := json.Unmarshal(text, &report); err != nil {
			return t, fmt.Errorf("report of examples/edges: %w", err)
		}
		for _, s := range report.Steps {
			if old, ok := t.ms[s.Name]; !ok || s.MS < old {
				t.ms[s.Name] = s.MS
			}
			if !slices.Contains(t.order, s.Name) {
				t.order = append(t.order, s.Name)
			}
		}
	}
	return t, nil
}

// print compares the steps with those of the interpreter. Three sums stand at the
// end: reading and writing picture files is Go, kernels are loaded once and copies
// are copies.
func (t edgesTimes) print(w io.Writer, interp edgesTimes) {
	line := func(name string, a, b float64) { fmt.Fprintf(w, "  %-28s %9.2f %9.2f %6.1f\n", name, a, b, a/b) }
	var all, device, launches [2]float64
	for _, name := range t.order {
		a, b := interp.ms[name], t.ms[name]
		line(name, a, b)
		all[0], all[1] = all[0]+a, all[1]+b
		if name == "pack" || strings.Contains(name, "code") {
			continue
		}
		device[0], device[1] = device[0]+a, device[1]+b
		if !slices.Contains([]string{"kernels", "upload", "threshold", "download"}, name) {
			launches[0], launches[1] = launches[0]+a, launches[1]+b
		}
	}
	line("all", all[0], all[1])
	line("without the picture files", device[0], device[1])
	line("launches alone", launches[0], launches[1])
}

// writePicture draws discs and waves, with edges in all directions.
func writePicture(name string, width, height int) error {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			dx, dy := x%500-250, y%500-250
			v := uint8((x*x/4096 + y*y/4096) % 256)
			if dx*dx+dy*dy < 150*150 {
				v = 255 - v
			}
			img.SetNRGBA(x, y, color.NRGBA{v, uint8(x / 16), uint8(y / 16), 255})
		}
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(f, img); err != nil {
		return err
	}
	return f.Close()
}
