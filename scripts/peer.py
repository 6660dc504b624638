"""peer.py MODEL OUT: coremltools quantizes a model to 8 bits per channel."""

import logging
import os
import sys
import warnings

os.environ["TQDM_DISABLE"] = "1"
logging.disable(logging.ERROR)
warnings.filterwarnings("ignore")

import coremltools as ct  # noqa: E402
import coremltools.optimize.coreml as cto  # noqa: E402

config = cto.OptimizationConfig(global_config=cto.OpLinearQuantizerConfig())
model = ct.models.MLModel(sys.argv[1], skip_model_load=True)
cto.linear_quantize_weights(model, config).save(sys.argv[2])
