package dev.banyan.page;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.SerializerProvider;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.MathContext;

/**
 * Writes numbers with eight significant digits, and whole ones without a point, which halves the length of a page. The
 * page shows at most six; two more, lest a number is rounded up twice.
 */
final class ShortNumbers extends JsonSerializer<Double> {
    static final ShortNumbers INSTANCE = new ShortNumbers();

    private static final MathContext DIGITS = new MathContext(8);

    private ShortNumbers() {}

    @Override
    public void serialize(Double value, JsonGenerator json, SerializerProvider provider) throws IOException {
        BigDecimal digits = new BigDecimal(value).round(DIGITS).stripTrailingZeros();
        json.writeRawValue(digits.scale() < 0 ? digits.toPlainString() : digits.toString());
    }
}
