package main

import (
	"math/rand/v2"
	"slices"

	"github.com/gokiln/kiln/bench/cpu/kernels"
	"github.com/gokiln/kiln/bench/cpu/plain"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/runtime"
)

// plainCase is a kernel as its documents have it and the algorithm in Go on one thread.
type plainCase struct {
	name  string
	build func(p *problem, small bool)
}

var plainCases = []plainCase{
	{"HeatTiles", func(p *problem, small bool) { heat(p, small, true) }},
	{"HeatLinear", func(p *problem, small bool) { heat(p, small, false) }},
	{"IDCT", idct},
	{"Matches", func(p *problem, small bool) { matches(p, small, false) }},
	{"HashMatches", func(p *problem, small bool) { matches(p, small, true) }},
	{"LookBack", lookBack},
	{"Labels", labels},
}

// host returns the values of a buffer, for the algorithm in Go.
func host[T dsl.Number](p *problem, s runtime.Slice[T]) []T {
	values, err := s.Host()
	p.errs = append(p.errs, err)
	return values
}

// answers has the results of the algorithm in Go compared with those of the kernel.
func answers[T dsl.Number](p *problem, values []T) {
	p.answers = append(p.answers, func() []float64 {
		list := make([]float64, len(values))
		for i, v := range values {
			list[i] = float64(v)
		}
		return list
	})
}

func heat(p *problem, small, tiles bool) {
	width, height := pick(small, 100, 2047), pick(small, 70, 1025)
	const k = 0.125
	out, in := newResult[float32](p, width*height), input(p, width*height, uniform(0, 1))
	across, down := (width+kernels.HeatTile-1)/kernels.HeatTile, (height+kernels.HeatTile-1)/kernels.HeatTile
	if tiles {
		grid := runtime.Grid{Blocks: runtime.Dim3{X: across, Y: down}, Threads: runtime.Dim3{X: kernels.HeatTile, Y: kernels.HeatTile / 4}}
		p.launch(kernels.HeatTiles, grid, out, in, width, height, float32(k))
	} else {
		p.launch(kernels.HeatLinear, runtime.Blocks(across*down, 256), out, in, width, height, kernels.HeatTile, kernels.HeatSteps, float32(k))
	}
	start := host(p, in)
	from, tmp, to := slices.Clone(start), slices.Clone(start), slices.Clone(start)
	p.plain = func() {
		plain.Heat(to, from, tmp, width, height, kernels.HeatSteps, k)
	}
	p.again = func() { copy(from, start) }
	answers(p, to)
}

func idct(p *problem, small bool) {
	across, down := pick(small, 5, 240), pick(small, 3, 135)
	n := across * down * 64
	out := newResult[uint8](p, n)
	coeffs := input(p, n, func(r *rand.Rand) int16 {
		if r.IntN(4) > 0 {
			return 0
		}
		return int16(r.IntN(64) - 32)
	})
	table := input(p, 64, func(r *rand.Rand) uint16 { return uint16(1 + r.IntN(40)) })
	p.launch(kernels.IDCT, runtime.Blocks((across*down+7)/8, 64), out, coeffs, table, across)
	to, from, by := host(p, out), host(p, coeffs), host(p, table)
	p.plain = func() { plain.IDCT(to, from, by, across) }
	answers(p, to)
}

// textOf draws a text of words.
func textOf(r *rand.Rand, n int) []uint8 {
	words := make([][]byte, 200)
	for i := range words {
		words[i] = make([]byte, 2+r.IntN(8))
		for k := range words[i] {
			words[i][k] = byte('a' + min(r.IntN(26), r.IntN(26)))
		}
	}
	text := make([]uint8, 0, n+16)
	for len(text) < n {
		text = append(append(text, words[min(r.IntN(200), r.IntN(200))]...), ' ')
	}
	return text[:n]
}

func matches(p *problem, small, hash bool) {
	n := pick(small, 1000, 1<<19)
	if hash {
		n = pick(small, 1000, 1<<21)
	}
	letters := textOf(p.rand, n)
	text := input(p, n, func(*rand.Rand) uint8 { c := letters[0]; letters = letters[1:]; return c })
	from := host(p, text)
	length := newResult[uint8](p, n)
	longest := host(p, length)
	answers(p, longest)
	if hash {
		found := candidates(from)
		candidate := input(p, n, func(*rand.Rand) int32 { c := found[0]; found = found[1:]; return c })
		p.launch(kernels.HashMatches, runtime.Cover(n, 256), length, text, candidate)
		list := host(p, candidate)
		p.plain = func() { plain.HashMatches(longest, from, list) }
		return
	}
	back := newResult[uint8](p, n)
	p.launch(kernels.Matches, runtime.Cover(n, 256), length, back, text)
	at := host(p, back)
	answers(p, at)
	p.plain = func() { plain.Matches(longest, at, from, kernels.MatchWindow, 32) }
}

// candidates returns, for each byte of text, an earlier one with the same hash of four.
func candidates(text []uint8) []int32 {
	list, last := make([]int32, len(text)), map[uint32]int32{}
	for i := range text {
		list[i] = -1
		if i+4 > len(text) {
			continue
		}
		h := (uint32(text[i]) | uint32(text[i+1])<<8 | uint32(text[i+2])<<16 | uint32(text[i+3])<<24) * 2654435761 >> 18
		if c, ok := last[h]; ok {
			list[i] = c
		}
		last[h] = int32(i)
	}
	return list
}

func lookBack(p *problem, small bool) {
	n := pick(small, 5000, 1<<22)
	out, x := newResult[uint32](p, n), input(p, n, (*rand.Rand).Uint32)
	blocks := (n + kernels.ScanTile - 1) / kernels.ScanTile
	state := input(p, blocks+1, func(*rand.Rand) uint64 { return 0 })
	p.launch(kernels.ScanBegin, runtime.Cover(blocks+1, 256), state)
	p.launch(kernels.LookBack, runtime.Blocks(blocks, 256), out, x, state)
	to, from := host(p, out), host(p, x)
	p.plain = func() { plain.Scan(to, from) }
	answers(p, to)
}

func labels(p *problem, small bool) {
	width, height := pick(small, 70, 1500), pick(small, 40, 1000)
	n := width * height
	label := newResult[int32](p, n)
	draw := blobs(p.rand, width, height)
	picture := input(p, n, func(*rand.Rand) uint8 { c := draw[0]; draw = draw[1:]; return c })
	grid := runtime.Cover(n, 256)
	p.launch(kernels.LabelInit, grid, label, picture, width)
	p.launch(kernels.LabelMerge, grid, label, width)
	p.launch(kernels.LabelFlatten, grid, label)
	to, from := host(p, label), host(p, picture)
	p.plain = func() { plain.Label(to, from, width) }
	answers(p, to)
}

// blobs draws a picture of rectangles and noise.
func blobs(r *rand.Rand, width, height int) []uint8 {
	picture := make([]uint8, width*height)
	for range width * height / 400 {
		x, y, w, h := r.IntN(width), r.IntN(height), 1+r.IntN(16), 1+r.IntN(16)
		value := uint8(r.IntN(2))
		for j := y; j < min(y+h, height); j++ {
			for i := x; i < min(x+w, width); i++ {
				picture[j*width+i] = value
			}
		}
	}
	for range width * height / 50 {
		picture[r.IntN(len(picture))] ^= 1
	}
	return picture
}
