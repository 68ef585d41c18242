package dev.banyan.page;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.SerializerProvider;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.MathContext;

/** Writes numbers with six significant digits, and whole ones without a point, which halves the length of a page. */
final class ShortNumbers extends JsonSerializer<Double> {
    static final ShortNumbers INSTANCE = new ShortNumbers();

    private static final MathContext DIGITS = new MathContext(6);

    private ShortNumbers() {}

    @Override
    public void serialize(Double value, JsonGenerator json, SerializerProvider provider) throws IOException {
        BigDecimal digits = new BigDecimal(value).round(DIGITS).stripTrailingZeros();
        json.writeRawValue(digits.scale() < 0 ? digits.toPlainString() : digits.toString());
    }
}
