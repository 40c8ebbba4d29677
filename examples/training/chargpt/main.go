package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/gokiln/kiln/examples/training/internal/curve"
	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/data"
	"github.com/gokiln/kiln/nn/loss"
	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/tensor"
)

const (
	batchSize   = 16
	contextSize = 64
	dim         = 96
	heads       = 4
	layers      = 2
)

type options struct {
	device, text, picture string
	steps, sample         int
	seed                  uint64
}

func main() {
	var o options
	flag.StringVar(&o.device, "device", "cpu", "device: auto, cpu, or one that kiln devices lists")
	flag.StringVar(&o.text, "text", "../../RATIONALE.md", "the text to learn")
	flag.StringVar(&o.picture, "o", "chargpt.png", "file for the curve of losses")
	flag.IntVar(&o.steps, "steps", 600, "steps of training")
	flag.IntVar(&o.sample, "sample", 300, "characters to write at the end")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of everything random")
	flag.Parse()
	if _, err := run(context.Background(), os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "chargpt:", err)
		os.Exit(1)
	}
}

// run trains and samples, and returns the losses.
func run(ctx context.Context, w io.Writer, o options) ([]float64, error) {
	raw, err := os.ReadFile(o.text)
	if err != nil {
		return nil, err
	}
	text := []rune(string(raw))
	vocabulary := slices.Compact(slices.Sorted(slices.Values(text)))
	dev, err := tensor.Open(o.device)
	if err != nil {
		return nil, err
	}
	defer dev.Close()
	dev.SetSeed(o.seed)
	net := NewGPT(len(vocabulary), contextSize, dim, heads, layers)
	if err := nn.Init(net, nn.On{Device: dev}); err != nil {
		return nil, err
	}
	count, err := nn.CountParams(net)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(w, "%d parameters, %d characters of text, %d different\n", count, len(text), len(vocabulary))
	losses, err := train(ctx, w, net, dev, encode(text, vocabulary), o)
	if err != nil {
		return nil, err
	}
	written, err := sample(net, dev, vocabulary, o)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(w, "\n%s\n\n", written)
	return losses, curve.Write(o.picture, "chargpt", losses)
}

// encode replaces characters by their numbers in the vocabulary.
func encode(text, vocabulary []rune) []int32 {
	out := make([]int32, len(text))
	for i, c := range text {
		at, _ := slices.BinarySearch(vocabulary, c)
		out[i] = int32(at)
	}
	return out
}

// train takes the steps: AdamW, with a learning rate that warms up and then falls.
func train(ctx context.Context, w io.Writer, net *GPT, dev *tensor.Device, tokens []int32, o options) ([]float64, error) {
	windows, err := data.NewWindows(tokens, contextSize, contextSize/4)
	if err != nil {
		return nil, err
	}
	loader, err := data.NewLoader(windows, data.NextToken[int32](dev), data.Options{Batch: batchSize, Shuffle: true, Seed: o.seed, DropLast: true})
	if err != nil {
		return nil, err
	}
	params, err := nn.Trainable(net)
	if err != nil {
		return nil, err
	}
	opt := optim.NewAdamW(params, optim.AdamW{WeightDecay: 0.1})
	plan := optim.Warmup{Steps: o.steps / 20, Then: optim.Cosine{From: 4e-3, To: 2e-4, Steps: o.steps}}
	var losses []float64
	begin := time.Now()
	for batch, err := range loader.Batches(ctx) {
		if err != nil {
			return nil, err
		}
		l := loss.CrossEntropy(net.Forward(batch.X).Flatten(0, 1), batch.Y.FlattenAll(), loss.CrossEntropyOptions{})
		grads, err := l.Backward()
		if err != nil {
			return nil, err
		}
		opt.SetLR(plan.At(len(losses)))
		if _, err := opt.StepClipped(grads, 1); err != nil {
			return nil, err
		}
		x, err := tensor.To0[float32](l)
		if err != nil {
			return nil, err
		}
		losses = append(losses, float64(x))
		if n := len(losses); n == o.steps || n%50 == 0 {
			fmt.Fprintf(w, "step %4d of %d: loss %.3f, %.1f s\n", n, o.steps, x, time.Since(begin).Seconds())
		}
		if len(losses) == o.steps {
			break
		}
	}
	return losses, nil
}

// sample writes characters, one after the other, each drawn from what the network thinks of those
// before.
func sample(net *GPT, dev *tensor.Device, vocabulary []rune, o options) (string, error) {
	const temperature = 0.8
	r := rand.New(rand.NewPCG(o.seed, 0))
	tokens := encode([]rune("\n"), vocabulary)
	var out []rune
	for range o.sample {
		seen := tokens[max(0, len(tokens)-contextSize):]
		scores := net.Forward(tensor.From(dev, seen, 1, len(seen)).NoGrad()).GetOn(1, -1).Get(0)
		p, err := tensor.To1[float32](scores.DivScalar(temperature).Softmax(-1))
		if err != nil {
			return "", err
		}
		next := draw(r, p)
		tokens, out = append(tokens, int32(next)), append(out, vocabulary[next])
	}
	return string(out), nil
}

// draw draws a number by probabilities.
func draw(r *rand.Rand, p []float32) int {
	x := r.Float32()
	for i, share := range p {
		if x -= share; x < 0 {
			return i
		}
	}
	return len(p) - 1 // sums of probabilities are rounded
}
