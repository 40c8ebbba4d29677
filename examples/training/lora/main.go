package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gokiln/kiln/examples/training/internal/curve"
	"github.com/gokiln/kiln/examples/training/internal/digitset"
	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/data"
	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/safetensors"
)

type options struct {
	device, picture string
	epochs, adapt   int // of the first training, and of the adapters
	seed            uint64
}

func main() {
	var o options
	flag.StringVar(&o.device, "device", "cpu", "device: auto, cpu, or one that kiln devices lists")
	flag.StringVar(&o.picture, "o", "lora.png", "file for the curve of losses")
	flag.IntVar(&o.epochs, "epochs", 10, "how often to go through the images at first")
	flag.IntVar(&o.adapt, "adapt", 40, "how often to go through the mirrored images")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of everything random")
	flag.Parse()
	if _, err := run(context.Background(), os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "lora:", err)
		os.Exit(1)
	}
}

// Net is three linear layers.
type Net struct{ In, Mid, Out *nn.Linear }

// NewNet returns the network, without values.
func NewNet() *Net {
	return &Net{In: nn.NewLinear(digitset.Pixels, 128), Mid: nn.NewLinear(128, 128), Out: nn.NewLinear(128, 10)}
}

// Forward takes images, (batch, pixels), and returns scores of the digits, (batch, 10).
func (n *Net) Forward(x *tensor.Tensor) *tensor.Tensor {
	return n.Out.Forward(n.Mid.Forward(n.In.Forward(x).Relu()).Relu())
}

// result is the shares of images that are read right.
type result struct {
	plain    float64 // by the first network
	mirrored float64 // of mirrored ones, by the first network
	adapted  float64 // with adapters
	merged   float64 // with adapters merged, in a copy
	losses   []float64
}

// set is images to learn from and to test with.
type set struct{ learn, test data.Dataset[data.Labeled] }

func run(ctx context.Context, w io.Writer, o options) (r result, err error) {
	dev, err := tensor.Open(o.device)
	if err != nil {
		return r, err
	}
	defer dev.Close()
	dev.SetSeed(o.seed)
	plain, mirrored, err := sets()
	if err != nil {
		return r, err
	}
	net := NewNet()
	if err := nn.Init(net, nn.On{Device: dev}); err != nil {
		return r, err
	}
	if _, err := learn(ctx, w, net, dev, plain.learn, o.epochs, "digits", o.seed); err != nil {
		return r, err
	}
	if r.plain, err = digitset.Accuracy(ctx, net, dev, plain.test, digitset.Pixels); err != nil {
		return r, err
	}
	if r.mirrored, err = digitset.Accuracy(ctx, net, dev, mirrored.test, digitset.Pixels); err != nil {
		return r, err
	}
	fmt.Fprintf(w, "the network reads %.1f %% right, and %.1f %% in the mirror\n", 100*r.plain, 100*r.mirrored)
	dir, err := os.MkdirTemp("", "lora")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	base, adapters := filepath.Join(dir, "net.safetensors"), filepath.Join(dir, "adapters.safetensors")
	if err := nn.Save(base, net, nil); err != nil {
		return r, err
	}
	if err := adapt(ctx, w, net, dev, mirrored, adapters, o, &r); err != nil {
		return r, err
	}
	if r.merged, err = merged(ctx, w, dev, mirrored.test, base, adapters); err != nil {
		return r, err
	}
	return r, curve.Write(o.picture, "lora", r.losses)
}

// sets returns the images as they are, and mirrored ones, of which there are few to learn from.
func sets() (plain, mirrored set, err error) {
	images, err := digitset.Load()
	if err != nil {
		return plain, mirrored, err
	}
	flipped := make(data.Slice[data.Labeled], len(images))
	for i, image := range images {
		x := make([]float32, len(image.X))
		for k := range x {
			x[k] = image.X[k/8*8+7-k%8]
		}
		flipped[i] = data.Labeled{X: x, Label: image.Label}
	}
	if plain.test, plain.learn, err = data.Split[data.Labeled](images, 360, 1); err != nil {
		return plain, mirrored, err
	}
	var rest data.Dataset[data.Labeled]
	if mirrored.test, rest, err = data.Split[data.Labeled](flipped, 360, 1); err != nil {
		return plain, mirrored, err
	}
	mirrored.learn, _, err = data.Split(rest, 300, 2)
	return plain, mirrored, err
}

// adapt adds adapters to the network, trains and saves them.
func adapt(ctx context.Context, w io.Writer, net *Net, dev *tensor.Device, images set, path string, o options, r *result) error {
	whole, err := nn.CountParams(net)
	if err != nil {
		return err
	}
	if _, err := nn.Adapt(net, nn.LoRAOptions{Rank: 4, Alpha: 8}, nil); err != nil {
		return err
	}
	if err := nn.Init(net, nn.On{Device: dev}); err != nil {
		return err
	}
	list, err := nn.Adapters(net)
	if err != nil {
		return err
	}
	few, err := nn.CountParams(list)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "adapters have %d parameters, the network has %d\n", few, whole)
	if r.losses, err = learn(ctx, w, net, dev, images.learn, o.adapt, "mirrored", o.seed); err != nil {
		return err
	}
	if r.adapted, err = digitset.Accuracy(ctx, net, dev, images.test, digitset.Pixels); err != nil {
		return err
	}
	fmt.Fprintf(w, "with adapters it reads %.1f %% right in the mirror\n", 100*r.adapted)
	return nn.Save(path, list, nil)
}

// merged loads the first network and the adapters into a new one and merges them.
func merged(ctx context.Context, w io.Writer, dev *tensor.Device, test data.Dataset[data.Labeled], base, adapters string) (float64, error) {
	net, on := NewNet(), nn.LoadOptions{On: nn.On{Device: dev}}
	if err := load(net, base, on); err != nil {
		return 0, err
	}
	if _, err := nn.Adapt(net, nn.LoRAOptions{Rank: 4, Alpha: 8}, nil); err != nil {
		return 0, err
	}
	list, err := nn.Adapters(net)
	if err != nil {
		return 0, err
	}
	if err := load(list, adapters, on); err != nil {
		return 0, err
	}
	if err := nn.Merge(net, false); err != nil {
		return 0, err
	}
	share, err := digitset.Accuracy(ctx, net, dev, test, digitset.Pixels)
	fmt.Fprintf(w, "merged into a copy of the first network: %.1f %%\n", 100*share)
	return share, err
}

// load loads a network from a file.
func load(net any, path string, o nn.LoadOptions) error {
	set, err := safetensors.Open(path)
	if err != nil {
		return err
	}
	defer set.Close()
	_, err = nn.Load(net, nn.File(set), o)
	return err
}

// learn trains what is not frozen and returns the losses.
func learn(ctx context.Context, w io.Writer, net *Net, dev *tensor.Device, set data.Dataset[data.Labeled], epochs int, what string, seed uint64) ([]float64, error) {
	loader, err := data.NewLoader(set, data.Classify(dev, digitset.Pixels), data.Options{Batch: 30, Shuffle: true, Seed: seed})
	if err != nil {
		return nil, err
	}
	params, err := nn.Trainable(net)
	if err != nil {
		return nil, err
	}
	opt := optim.NewAdamW(params, optim.AdamW{LR: 2e-3})
	var losses []float64
	for epoch := 1; epoch <= epochs; epoch++ {
		for batch, err := range loader.Epoch(ctx) {
			if err != nil {
				return nil, err
			}
			x, err := digitset.Step(net, opt, batch)
			if err != nil {
				return nil, err
			}
			losses = append(losses, x)
		}
		if epoch == epochs || epoch%5 == 0 {
			fmt.Fprintf(w, "%s, epoch %2d of %d: loss %.4f\n", what, epoch, epochs, losses[len(losses)-1])
		}
	}
	return losses, nil
}
