// European options by Black and Scholes: streams of floats, exp, log, sqrt and divisions.
float below(float d) {  // the normal distribution, by the polynomial of Abramowitz and Stegun 26.2.17
  float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
  float sum = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  float tail = 0.39894228f * exp(-0.5f * d * d) * sum;
  return d > 0 ? 1.0f - tail : tail;
}

__kernel void options(__global const float* spot, __global const float* strike, __global const float* years,
                      __global float* call, __global float* put, float rate, float volatility) {
  int i = get_global_id(0);
  float s = spot[i], x = strike[i], t = years[i];
  float spread = volatility * sqrt(t);
  float d1 = (log(s / x) + (rate + 0.5f * volatility * volatility) * t) / spread;
  float d2 = d1 - spread;
  float discounted = x * exp(-rate * t);
  float n1 = below(d1), n2 = below(d2);
  call[i] = s * n1 - discounted * n2;
  put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
}
