// Package autodiff lets package nir use an automatic differentiation that it does
// not import: the graph of dacelib/nir/graph registers itself here, as drivers of
// databases do with database/sql.
package autodiff

import "errors"

// A Config describes the shape of a model and of a batch.
type Config struct {
	Instances, Batch           int // instances, rows per instance
	Dim, Latent                int // d, d_z
	Hidden                     int
	EmbeddingSize, HyperHidden int
	WithStd, Sampled           bool // the scorer reads the mean and std; z; or, if neither is set, the mean
	Affine                     bool // the scorer has no activation
	Norm                       bool // encoder and decoder have batch normalisation
	NormEpsilon, Leak          float64
	PredictionWeight, KLWeight float64
	// Tensors holds the position of each parameter in the flat vector, by name.
	Tensors map[string]Tensor
	// Scorer lists the parts of the hypernetwork's output, in order.
	Scorer []Tensor
}

// A Tensor is a row-major matrix that begins at Offset.
type Tensor struct {
	Name               string
	Rows, Cols, Offset int
}

// Losses are the terms of Eq. 9 of one instance, without their weights.
type Losses struct{ Reconstruction, Scorer, KL float64 }

// A Model computes the gradient of the loss of one batch per instance.
type Model interface {
	// Gradient computes the losses of each instance, and sets grad to the
	// gradient of their sum. Params are all weights, flat; x, y and eps hold for
	// each instance the solutions (Batch x Dim, of -1 and +1), their values (Batch)
	// and the noise of the latents (Batch x Latent).
	Gradient(params []float32, x, y, eps [][]float32, grad []float32) ([]Losses, error)
}

var newModel func(Config) (Model, error)

// Register makes [New] build models by build. It is called by the init function
// of a package that implements Model.
func Register(build func(Config) (Model, error)) { newModel = build }

// New returns a model of the registered package, or an error that says how to
// register one.
func New(c Config) (Model, error) {
	if newModel == nil {
		return nil, errors.New(`Settings.Gorgonia needs gorgonia's graph, which this program does not hold: import _ "dace.local/dacelib/nir/graph"`)
	}
	return newModel(c)
}
