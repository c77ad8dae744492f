// Package nir is the neural instance representation of the DACE paper: a
// neural network that stands for an instance of a binary optimisation problem
// by approximating its objective function. Changing its embedding, a vector of
// 64 numbers, changes the instance.
//
// Start with [Train]: it takes a few instances and returns a [Model], in which
// every one of them has an embedding. [Model.Instance] makes a problem of an
// embedding, a trained one or any other; it is normalised to [0, 1] by Eq. 11
// and can be given to every method of dacelib. [Model.Normalise] finds the
// ranges of many embeddings in one pass over the sample. [Model.Save] and
// [Load] keep a model in a file that numpy reads.
//
// The model (the paper's section III, Table I) is four networks:
//
//	encoder       d -> 128 -> 128 -> mean and log-variance of z (d_z each)
//	decoder       d_z -> 128 -> 128 -> d, HardTanh on the output
//	scorer        mean (+) standard deviation -> 128 -> 128 -> 1
//	hypernetwork  embedding (64) -> 64 -> the weights of the scorer
//
// Hidden layers are followed by LeakyReLU(0.01). A solution enters as a vector
// of -1 and +1. Encoder, decoder and hypernetwork are shared by all instances.
package nir

import (
	"fmt"
	"math"

	"dace.local/dacelib/run"
)

const (
	// EmbeddingSize is the length of an embedding, d_e in the paper.
	EmbeddingSize = 64
	// Hidden is the width of the hidden layers of encoder, decoder and scorer.
	Hidden = 128
	// leak is the slope of LeakyReLU below zero.
	leak = 0.01
)

// An Input says what the scorer reads of the encoder's output.
type Input int

const (
	// MeanAndStd: mean and standard deviation side by side, 2 d_z numbers
	// (the paper's Eq. 7).
	MeanAndStd Input = iota
	// Mean: the mean alone, d_z numbers (the paper's table of sizes).
	Mean
	// Sample: the sampled z while training and the mean afterwards, d_z
	// numbers (the authors' code).
	Sample
)

// String returns the name of the input.
func (i Input) String() string {
	switch i {
	case MeanAndStd:
		return "MeanAndStd"
	case Mean:
		return "Mean"
	case Sample:
		return "Sample"
	}
	return fmt.Sprintf("Input(%d)", int(i))
}

// MarshalText returns the name of the input.
func (i Input) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText sets the input by its name.
func (i *Input) UnmarshalText(text []byte) error {
	for *i = MeanAndStd; *i <= Sample; *i++ {
		if i.String() == string(text) {
			return nil
		}
	}
	return fmt.Errorf("nir: there is no input %q", text)
}

// An Activation follows the hidden layers of the scorer.
type Activation int

const (
	// LeakyReLU with slope 0.01 (the paper's table).
	LeakyReLU Activation = iota
	// Identity: none. The scorer is then an affine function of its input
	// (the authors' code), which is evaluated as one dot product.
	Identity
)

// String returns the name of the activation.
func (a Activation) String() string {
	switch a {
	case LeakyReLU:
		return "LeakyReLU"
	case Identity:
		return "Identity"
	}
	return fmt.Sprintf("Activation(%d)", int(a))
}

// MarshalText returns the name of the activation.
func (a Activation) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText sets the activation by its name.
func (a *Activation) UnmarshalText(text []byte) error {
	for *a = LeakyReLU; *a <= Identity; *a++ {
		if a.String() == string(text) {
			return nil
		}
	}
	return fmt.Errorf("nir: there is no activation %q", text)
}

// Settings say what the model is and how it is trained. The zero value is the
// paper's; see also [Authors].
type Settings struct {
	// Input of the scorer; default MeanAndStd.
	Input Input
	// Activation of the scorer's hidden layers; default LeakyReLU.
	Activation Activation
	// BatchNorm puts a batch normalisation between each hidden layer of
	// encoder and decoder and its activation. The paper has none.
	BatchNorm bool
	// Dim is the dimension d of the model. 0 means that of the instances, or,
	// where they differ, the mean of theirs, rounded (App. E). Solutions of
	// other dimensions are padded with zeros or truncated.
	Dim int
	// Latent is the dimension d_z; 0 means d.
	Latent int

	// Samples is the number of distinct uniform solutions drawn of every
	// instance, 75 % of them to train with; default 100,000.
	Samples int
	// Batch is the number of solutions per instance and step; default 256.
	Batch int
	// Steps is the number of steps of Adam; default 12,000.
	Steps int
	// LearningRate at the first step; it falls to a hundredth of that along a
	// half cosine. Default 0.001.
	LearningRate float64
	// HyperRate is the learning rate of the hypernetwork's output weights as
	// a part of LearningRate; default 0.1. A step of these 64 weights moves
	// one weight of a scorer, so at equal rates scorers move too fast to
	// settle.
	HyperRate float64
	// ValidateEvery is the number of steps between validations; default
	// a 60th of Steps.
	ValidateEvery int
	// StopFactor ends the training when the validation loss exceeds that many
	// times the best; default 5.
	StopFactor float64
	// PredictionWeight and KLWeight are lambda_1 and lambda_2 of Eq. 9;
	// defaults 1 and 0.0005. A negative number means 0.
	PredictionWeight, KLWeight float64
	// Resume continues the training of a model that was cancelled. Instances
	// and settings must be the same; the result is that of a training without
	// interruption.
	Resume *Model `json:"-"`
	// Gorgonia trains by gorgonia's automatic differentiation instead of the
	// hand-written pass: the same model and the same loss, some times slower.
	// It is what the hand-written pass is tested against.
	Gorgonia bool

	// NormaliseSample is the number of solutions over which [Model.Normalise]
	// takes minimum and maximum; default 10,000,000. They are drawn from one
	// seed, the same for every embedding.
	NormaliseSample int
	// Normalisation of the model to be made; see [Model].Normalisation.
	Normalisation Normalisation `json:"-"`

	// Workers is the number of goroutines; 0 means GOMAXPROCS. It does not
	// change any result.
	Workers int `json:"-"`
	// Seed of everything random.
	Seed uint64
	// OnEvent receives an event of stage "data" when an instance's solutions
	// have been evaluated, and the progress of training at every validation and ten
	// times between: stage "train", Value the last validation loss, Best the
	// smallest so far, NaN before the first.
	OnEvent func(run.Event) `json:"-"`
	// OnRecord receives the losses at every validation, for live curves.
	OnRecord func(Record) `json:"-"`
}

// Paper returns the settings of the paper's text, which are the zero value.
func Paper() Settings { return Settings{} }

// Authors returns the settings of the authors' published code, where it
// differs from the paper's text: the scorer reads the sampled z in training
// and the mean afterwards, it has no activations, and encoder and decoder
// have batch normalisation.
func Authors() Settings {
	return Settings{Input: Sample, Activation: Identity, BatchNorm: true}
}

// Quick returns settings for a first look: a training of some seconds, after
// which OneMax instances of 30 bits can be told apart and are found again, but
// whose losses are some times the paper's.
func Quick() Settings {
	return Settings{Samples: 20_000, Batch: 64, Steps: 2000, ValidateEvery: 200, LearningRate: 0.004, HyperRate: 0.025, NormaliseSample: 500_000}
}

// withDefaults returns s with every zero replaced by its meaning; dim is the
// dimension of the model.
func (s Settings) withDefaults(dim int) Settings {
	def := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	deff := func(p *float64, v float64) {
		if *p == 0 {
			*p = v
		}
		*p = max(*p, 0)
	}
	def(&s.Dim, dim)
	def(&s.Latent, s.Dim)
	def(&s.Samples, 100_000)
	def(&s.Batch, 256)
	def(&s.Steps, 12_000)
	def(&s.ValidateEvery, max(1, s.Steps/60))
	def(&s.NormaliseSample, 10_000_000)
	deff(&s.LearningRate, 1e-3)
	deff(&s.HyperRate, 0.1)
	deff(&s.StopFactor, 5)
	deff(&s.PredictionWeight, 1)
	deff(&s.KLWeight, 5e-4)
	return s
}

// check returns an error that names the first setting that makes no sense.
func (s Settings) check() error {
	switch {
	case s.Input < MeanAndStd || s.Input > Sample:
		return fmt.Errorf("nir: Settings.Input is %d; use MeanAndStd, Mean or Sample", int(s.Input))
	case s.Activation < LeakyReLU || s.Activation > Identity:
		return fmt.Errorf("nir: Settings.Activation is %d; use LeakyReLU or Identity", int(s.Activation))
	case s.Dim < 1 || s.Dim > maxDim:
		return fmt.Errorf("nir: the model's dimension is %d; it must be 1 to %d", s.Dim, maxDim)
	case s.Latent < 1 || s.Latent > maxDim:
		return fmt.Errorf("nir: Settings.Latent is %d; it must be 1 to %d", s.Latent, maxDim)
	case s.Samples < minData:
		return fmt.Errorf("nir: Settings.Samples is %d; training needs at least %d", s.Samples, minData)
	case s.Batch < 2 || s.Steps < 1 || s.ValidateEvery < 1:
		return fmt.Errorf("nir: Settings.Batch is %d, Steps %d, ValidateEvery %d; they must be at least 2, 1, 1", s.Batch, s.Steps, s.ValidateEvery)
	case s.NormaliseSample < 2 || s.NormaliseSample > maxSample:
		return fmt.Errorf("nir: Settings.NormaliseSample is %d; it must be 2 to %d", s.NormaliseSample, maxSample)
	case !finite(s.PredictionWeight, s.KLWeight, s.HyperRate, s.LearningRate):
		return fmt.Errorf("nir: Settings.PredictionWeight is %v, KLWeight %v, HyperRate %v, LearningRate %v; they must be finite", s.PredictionWeight, s.KLWeight, s.HyperRate, s.LearningRate)
	case !(s.LearningRate > 0) || !(s.StopFactor >= 1):
		return fmt.Errorf("nir: Settings.LearningRate is %v and StopFactor %v; they must be positive, and at least 1", s.LearningRate, s.StopFactor)
	}
	return nil
}

// finite says whether no value is NaN or infinite.
func finite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// maxDim bounds the dimension of solutions and latents.
const maxDim = 4096

// maxSample bounds the normalising sample.
const maxSample = 1 << 30

// minData is the smallest number of solutions to train an instance with.
const minData = 100
