package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gokiln/kiln/cmd/kiln/internal/tensorfile"
	"github.com/gokiln/kiln/quantized/imatrix"
	"github.com/gokiln/kiln/quantized/recipe"
	"github.com/gokiln/kiln/tensor"
)

func tensorsQuantize() *cobra.Command {
	var format, out, name string
	var dry bool
	var o tensorfile.QuantizeOptions
	cmd := &cobra.Command{
		Use:   "quantize file -o file -type recipe",
		Short: "write a model in a mixture of quantized types, as GGUF",
		Long: "Quantize writes a model as a GGUF file, its weights in the types that a recipe of\n" +
			"llama.cpp has for them. Recipes are\n\n" + wrapped(recipe.Names()) + "\n\n" +
			"They know layers by the names that GGUF files have; weights of other names get the type\n" +
			"that the recipe has for most. IQ1_S, IQ2_XXS and IQ2_XS want the importance of columns, and\n" +
			"others are better with it. NaN, infinities and numbers that are too large for the scales of\n" +
			"a type are errors. Blocks are those of llama.cpp but for IQ3_S in which zeros are in front\n" +
			"of other elements, which it makes wrong. With -dry-run it prints what becomes of each\n" +
			"tensor, and the size. It uses all cores, and no GPU.",
		Example: "  kiln tensors quantize model.F16.gguf -o model.Q4_K_M.gguf -type Q4_K_M",
		Args:    wanting(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.Recipe, err = recipe.Parse(name); err != nil {
				return usageError{fmt.Errorf("-type: %w", err)}
			}
			if out == "" && !dry {
				return usageError{fmt.Errorf("which output? -o names it, -dry-run wants none")}
			}
			return quantizeTensors(cmd, args[0], format, out, dry, o)
		},
	}
	formatFlag(cmd, &format)
	cmd.Flags().StringVarP(&out, "output", "o", "", "the `file` to write")
	cmd.Flags().StringVar(&name, "type", "", "the `recipe`, such as Q4_K_M")
	cmd.Flags().StringVar(&o.ImatrixOf, "imatrix", "", "a `file` with the importance of columns")
	cmd.Flags().BoolVar(&o.Requantize, "requantize", false,
		"quantize tensors of other quantized types too")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print what becomes of each tensor, and the size")
	_ = cmd.MarkFlagRequired("type")
	return cmd
}

// wrapped is words in lines of a help text.
func wrapped(words []string) string {
	const width = 90
	text, line := "", " "
	for _, w := range words {
		if len(line)+1+len(w) > width {
			text, line = text+line+"\n", " "
		}
		line += " " + w
	}
	return text + line
}

func quantizeTensors(cmd *cobra.Command, in, format, out string, dry bool,
	o tensorfile.QuantizeOptions) error {
	m, err := tensorfile.Open(in, format)
	if err != nil {
		return err
	}
	defer m.Close()
	if o.ImatrixOf != "" {
		if o.Imatrix, err = imatrix.Open(o.ImatrixOf); err != nil {
			return err
		}
	}
	steps, err := tensorfile.Plan(m, o)
	if err != nil {
		return err
	}
	if dry {
		if err := tensorfile.Check(m, steps, o); err != nil {
			return err
		}
		return printPlan(cmd.OutOrStdout(), steps)
	}
	var before, after int64
	for _, s := range steps {
		before, after = before+s.From.Size(), after+s.To.Size()
	}
	show, stop := byteProgress(cmd.ErrOrStderr(), after)
	o.Wrote = show
	err = tensorfile.Quantize(out, m, steps, o)
	stop()
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s, %s instead of %s\n", out, count(len(steps), "tensor"),
		sizeText(after), sizeText(before))
	return nil
}

// printPlan prints what becomes of tensors.
func printPlan(out io.Writer, steps []tensorfile.Step) error {
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSHAPE\tFROM\tTO\tBYTES")
	var before, after int64
	for _, s := range steps {
		to := s.To.Stored
		if s.To.DType.Valid() {
			to = strings.ToUpper(s.To.DType.String())
		}
		fmt.Fprintf(table, "%s\t%v\t%s\t%s\t%d\n", printable(s.From.Name), tensor.Shape(s.From.Shape()),
			s.From.Stored, to, s.To.Size())
		before, after = before+s.From.Size(), after+s.To.Size()
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%s, %s instead of %s\n", count(len(steps), "tensor"), sizeText(after),
		sizeText(before))
	return err
}
