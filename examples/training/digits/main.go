package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/gokiln/kiln/examples/training/internal/curve"
	"github.com/gokiln/kiln/examples/training/internal/digitset"
	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/data"
	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/nn/train"
	"github.com/gokiln/kiln/tensor"
)

const (
	batchSize = 32
	held      = 360 // images that it is tested with
)

type options struct {
	device, picture, checkpoint string
	epochs                      int
	seed                        uint64
}

func main() {
	var o options
	flag.StringVar(&o.device, "device", "cpu", "device: auto, cpu, or one that kiln devices lists")
	flag.StringVar(&o.picture, "o", "digits.png", "file for the curve of losses")
	flag.StringVar(&o.checkpoint, "checkpoint", "", "file that it saves to and goes on from")
	flag.IntVar(&o.epochs, "epochs", 12, "how often to go through the images")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of everything random")
	flag.Parse()
	if _, err := run(context.Background(), os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "digits:", err)
		os.Exit(1)
	}
}

// Net is two convolutions and a linear layer.
type Net struct {
	Conv1, Conv2 *nn.Conv
	Pool         *nn.MaxPool
	Drop         *nn.Dropout
	Out          *nn.Linear
}

// NewNet returns the network.
func NewNet() *Net {
	same := nn.ConvOptions{Same: true}
	return &Net{
		Conv1: nn.NewConv2d(1, 16, 3, same), Conv2: nn.NewConv2d(16, 32, 3, same),
		Pool: nn.NewMaxPool2d(2), Drop: &nn.Dropout{P: 0.3}, Out: nn.NewLinear(32*4*4, 10),
	}
}

// Forward takes images, (batch, 1, 8, 8), and returns scores of the digits, (batch, 10).
func (n *Net) Forward(x *tensor.Tensor) *tensor.Tensor {
	x = n.Conv1.Forward(x).Relu()
	x = n.Pool.Forward(n.Conv2.Forward(x).Relu())
	return n.Out.Forward(n.Drop.Forward(x.Flatten(1, -1)))
}

// result is what a run came to.
type result struct {
	losses   []float64
	accuracy float64 // of the images that were held out
}

// trainer is a run with all that belongs to it.
type trainer struct {
	options
	w      io.Writer
	dev    *tensor.Device
	net    *Net
	loader *data.Loader[data.Labeled, data.Pair]
	opt    *optim.Optimizer
	state  *train.Checkpoint
	losses []float64
}

func run(ctx context.Context, w io.Writer, o options) (*result, error) {
	dev, err := tensor.Open(o.device)
	if err != nil {
		return nil, err
	}
	defer dev.Close()
	dev.SetSeed(o.seed)
	images, err := digitset.Load()
	if err != nil {
		return nil, err
	}
	test, learn, err := data.Split[data.Labeled](images, held, 1)
	if err != nil {
		return nil, err
	}
	t, err := newTrainer(w, dev, learn, o)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	r := &result{}
	for t.loader.Position().Epoch < o.epochs {
		epoch := t.loader.Position().Epoch + 1
		if err := t.epoch(ctx); err != nil {
			return nil, err
		}
		fmt.Fprintf(w, "epoch %2d of %d: loss %.4f, %.1f s\n", epoch, o.epochs, mean(t.losses, t.loader.Len()), time.Since(begin).Seconds())
	}
	if r.accuracy, err = digitset.Accuracy(ctx, t.net, dev, test, 1, 8, 8); err != nil {
		return nil, err
	}
	fmt.Fprintf(w, "%.1f %% of %d digits that it had not seen are right\n", 100*r.accuracy, test.Len())
	if r.losses = t.losses; len(r.losses) == 0 {
		return r, nil
	}
	return r, curve.Write(o.picture, "digits", r.losses)
}

// newTrainer makes a network and what trains it, or has them go on from a checkpoint.
func newTrainer(w io.Writer, dev *tensor.Device, learn data.Dataset[data.Labeled], o options) (*trainer, error) {
	t := &trainer{options: o, w: w, dev: dev, net: NewNet()}
	if err := nn.Init(t.net, nn.On{Device: dev}); err != nil {
		return nil, err
	}
	params, err := nn.Trainable(t.net)
	if err != nil {
		return nil, err
	}
	t.opt = optim.NewAdamW(params, optim.AdamW{LR: 2e-3, WeightDecay: 0.01})
	t.loader, err = data.NewLoader(learn, data.Classify(dev, 1, 8, 8), data.Options{Batch: batchSize, Shuffle: true, Seed: o.seed})
	if err != nil {
		return nil, err
	}
	t.state = &train.Checkpoint{Model: t.net, Optimizer: t.opt, Loader: t.loader, Device: dev}
	if o.checkpoint == "" {
		return t, nil
	}
	switch err := t.state.Load(o.checkpoint); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		fmt.Fprintf(w, "goes on after step %d\n", t.state.Step)
	}
	return t, nil
}

// epoch goes through the images once, and saves.
func (t *trainer) epoch(ctx context.Context) error {
	if err := nn.SetTraining(t.net, true); err != nil {
		return err
	}
	for batch, err := range t.loader.Epoch(ctx) {
		if err != nil {
			return err
		}
		x, err := digitset.Step(t.net, t.opt, batch)
		if err != nil {
			return err
		}
		t.losses = append(t.losses, x)
		t.state.Step++
	}
	if t.checkpoint == "" {
		return nil
	}
	return t.state.Save(t.checkpoint)
}

// mean is that of the last n losses.
func mean(losses []float64, n int) float64 {
	n = min(n, len(losses))
	sum := 0.0
	for _, l := range losses[len(losses)-n:] {
		sum += l / float64(n)
	}
	return sum
}
